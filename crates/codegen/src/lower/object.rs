//! Objects with declared properties.

use std::collections::HashSet;

use contract::model::{SchemaId, SchemaKind};
use serde_json::Value;

use super::Lowering;
use super::flatten::{AdditionalProperties, FlatSchema};
use super::form::{Form, Subject};
use crate::ir::{Additional, Field, Object, TypeKind, TypeRef};
use crate::names;

impl Lowering<'_> {
    pub(super) fn object(&mut self, flat: &FlatSchema, subject: &Subject<'_>) -> Form {
        let undeclared = flat
            .required
            .iter()
            .any(|name| !flat.properties.contains_key(name));
        if flat.properties.is_empty() && flat.additional != AdditionalProperties::Refused {
            return self.map(flat, subject, undeclared);
        }
        let mut residual = flat.residual || undeclared;
        let mut taken = HashSet::new();
        let wanted: Vec<_> = flat
            .properties
            .keys()
            .map(|wire| (wire.as_str(), names::snake(wire)))
            .collect();
        let names = names::unique_all(&mut taken, &wanted);
        let mut fields = Vec::with_capacity(flat.properties.len());
        for ((wire, schemas), name) in flat.properties.iter().zip(names) {
            let hint = format!("{}{}", subject.name, names::pascal(wire));
            let (ty, exact) = self.type_of_all(schemas, &hint);
            residual |= !exact;
            fields.push(self.field(flat, (wire, &name), schemas[0], ty));
        }
        let additional = match &flat.additional {
            // A required property that nobody declares has to be kept somewhere.
            AdditionalProperties::Unspecified if undeclared => {
                kept_in_map(TypeRef::Any, &mut taken)
            }
            AdditionalProperties::Unspecified => Additional::Open,
            AdditionalProperties::Refused => Additional::Closed,
            AdditionalProperties::Any => kept_in_map(TypeRef::Any, &mut taken),
            AdditionalProperties::Follow(id) => {
                let values = self.type_of(*id, &format!("{}AdditionalProperty", subject.name));
                kept_in_map(values, &mut taken)
            }
        };
        Form::Item(TypeKind::Object(Object {
            fields,
            additional,
            min_properties: flat.min_properties,
            max_properties: flat.max_properties,
            dependent_required: dependent_required(flat),
            check: residual.then(|| subject.check.clone()),
            fields_name: None,
        }))
    }

    fn field(
        &self,
        flat: &FlatSchema,
        (wire, name): (&str, &str),
        schema: SchemaId,
        ty: TypeRef,
    ) -> Field {
        let (ty, nullable) = match ty {
            TypeRef::Nullable(inner) => (*inner, true),
            other => (other, false),
        };
        let required = flat.required.contains(wire);
        Field {
            wire: wire.to_owned(),
            name: names::identifier(name),
            ty,
            required,
            nullable,
            default: if required {
                None
            } else {
                self.own_default(schema)
            },
            schema,
        }
    }

    /// The default that stands beside a property. One inside a referenced schema describes that schema, and
    /// must not fill in what a partial update leaves out.
    pub(super) fn own_default(&self, id: SchemaId) -> Option<Value> {
        match &self.contract.schema(id).kind {
            SchemaKind::Object(keywords) => {
                keywords.default.clone().filter(|value| !value.is_null())
            }
            SchemaKind::Bool(_) => None,
        }
    }
}

fn kept_in_map(ty: TypeRef, taken: &mut HashSet<String>) -> Additional {
    Additional::Kept {
        ty,
        field: names::unique(taken, "additional_properties".to_owned()),
    }
}

fn dependent_required(flat: &FlatSchema) -> Option<Value> {
    (!flat.dependent_required.is_empty()).then(|| {
        Value::Object(
            flat.dependent_required
                .iter()
                .map(|(name, needed)| (name.clone(), needed.iter().map(String::as_str).collect()))
                .collect(),
        )
    })
}
