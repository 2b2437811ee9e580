//! The schemas within a schema, by keyword.

use indexmap::IndexMap;

use super::schema::{Keywords, SchemaId, SchemaKind};

type SchemaMap = IndexMap<String, SchemaId>;

impl Keywords {
    /// Calls `visit` with every schema directly inside this one. The target of `$ref` is not
    /// inside.
    pub fn for_each_child(&self, mut visit: impl FnMut(SchemaId)) {
        for id in self.singles().into_iter().filter_map(|(_, id)| id) {
            visit(id);
        }
        for id in self.lists().into_iter().flat_map(|(_, ids)| ids) {
            visit(*id);
        }
        for id in self.maps().into_iter().flat_map(|(_, map)| map.values()) {
            visit(*id);
        }
    }

    /// Returns the schemas that apply to the same value as this one, rather than to a part of it.
    pub(crate) fn in_place(&self) -> Vec<SchemaId> {
        let single = [
            self.reference,
            self.not,
            self.if_schema,
            self.then_schema,
            self.else_schema,
        ];
        single
            .into_iter()
            .flatten()
            .chain(self.all_of.iter().copied())
            .chain(self.any_of.iter().copied())
            .chain(self.one_of.iter().copied())
            .chain(self.dependent_schemas.values().copied())
            .collect()
    }

    pub(crate) fn singles(&self) -> [(&'static str, Option<SchemaId>); 11] {
        [
            ("items", self.items),
            ("contains", self.contains),
            ("unevaluatedItems", self.unevaluated_items),
            ("additionalProperties", self.additional_properties),
            ("propertyNames", self.property_names),
            ("unevaluatedProperties", self.unevaluated_properties),
            ("not", self.not),
            ("if", self.if_schema),
            ("then", self.then_schema),
            ("else", self.else_schema),
            ("contentSchema", self.event_content),
        ]
    }

    pub(crate) fn lists(&self) -> [(&'static str, &[SchemaId]); 4] {
        [
            ("prefixItems", &self.prefix_items),
            ("allOf", &self.all_of),
            ("anyOf", &self.any_of),
            ("oneOf", &self.one_of),
        ]
    }

    pub(crate) fn maps(&self) -> [(&'static str, &SchemaMap); 4] {
        [
            ("properties", &self.properties),
            ("patternProperties", &self.pattern_properties),
            ("dependentSchemas", &self.dependent_schemas),
            ("$defs", &self.defs),
        ]
    }
}

impl SchemaKind {
    /// Returns the schemas that apply to the same value as this one, rather than to a part of it.
    pub(crate) fn in_place(&self) -> Vec<SchemaId> {
        match self {
            Self::Object(keywords) => keywords.in_place(),
            Self::Bool(_) => Vec::new(),
        }
    }
}
