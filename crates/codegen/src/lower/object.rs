//! The form of objects: a struct, or a map where no property is declared.

use std::collections::HashSet;

use contract::model::{SchemaId, SchemaKind, Types};
use serde_json::Value;

use super::flatten::{AdditionalProperties, FlatSchema};
use super::form::{Form, Subject};
use super::lowering::Lowering;
use crate::ir::{Additional, Field, JsonText, Object, TypeKind, TypeRef};
use crate::names;

impl Lowering<'_> {
    /// Chooses the form of an object.
    pub(super) fn object(&mut self, flat: &FlatSchema, subject: &Subject<'_>) -> Form {
        // No field holds a required property that is not declared, so only the check finds it
        // missing.
        let undeclared = flat
            .required
            .iter()
            .any(|name| !flat.properties.contains_key(name));
        // A closed object without properties accepts `{}` alone, which an empty struct says and a
        // map does not.
        if flat.properties.is_empty() && flat.additional != AdditionalProperties::Refused {
            return self.map(flat, subject, undeclared);
        }
        let mut taken = HashSet::new();
        let (fields, exact) = self.fields(flat, subject, &mut taken);
        let additional = self.additional(flat, subject, undeclared, &mut taken);
        let residual = flat.residual || undeclared || !exact;
        Form::Item(TypeKind::Object(Object {
            fields,
            additional,
            min_properties: flat.min_properties,
            max_properties: flat.max_properties,
            dependent_required: dependent_required(flat),
            check: residual.then(|| subject.check.clone()),
            // Named when the names of all items are known.
            fields_name: None,
        }))
    }

    /// Returns a field for each declared property, and whether their types accept exactly what the
    /// schemas do.
    fn fields(
        &mut self,
        flat: &FlatSchema,
        subject: &Subject<'_>,
        taken: &mut HashSet<String>,
    ) -> (Vec<Field>, bool) {
        let wanted: Vec<_> = flat
            .properties
            .keys()
            .map(|wire| (wire.as_str(), names::snake(wire)))
            .collect();
        let names = names::unique_all(taken, &wanted);
        let mut all_exact = true;
        let mut fields = Vec::with_capacity(flat.properties.len());
        for ((wire, schemas), name) in flat.properties.iter().zip(names) {
            let hint = format!("{}{}", subject.name, names::pascal(wire));
            let content = self.event_content(schemas);
            let (ty, exact) = match &content {
                Some(content) => (self.type_of(content.schema, &hint), content.is_exact),
                None => self.type_of_all(schemas, &hint),
            };
            all_exact &= exact;
            let mut field = self.field(flat, (wire, &name), schemas[0], ty);
            field.json_text = content.map(|content| content.text);
            fields.push(field);
        }
        (fields, all_exact)
    }

    /// Returns what the text of a property holds, if it is the data of one of several events.
    pub(super) fn event_content(&self, schemas: &[SchemaId]) -> Option<EventContent> {
        let (schema, media_type) = schemas.iter().find_map(|id| {
            let target = self.contract.resolve(*id);
            let SchemaKind::Object(keywords) = &self.contract.schema(target).kind else {
                return None;
            };
            // As written: before 3.1 this is no keyword of a schema.
            let mut written = keywords.raw.iter();
            let media_type = written.find(|(name, _)| name == "contentMediaType");
            let media_type = media_type.and_then(|(_, name)| name.as_str());
            Some((keywords.event_content?, media_type.map(str::to_owned)))
        })?;
        let flat = FlatSchema::of(self.contract, schemas);
        // Other schemas of the same property may say that it is something else.
        let is_text = flat.types.is_none_or(|types| types == Types::STRING) && !flat.secret;
        let is_constrained = flat.values.is_some()
            || !flat.choices.is_empty()
            || flat.residual
            || flat.never
            || flat.constrains_strings();
        is_text.then_some(EventContent {
            schema,
            text: JsonText { media_type },
            is_exact: !is_constrained,
        })
    }

    /// Returns what the struct does with undeclared properties. `undeclared` is whether a property
    /// is required although it is not declared.
    fn additional(
        &mut self,
        flat: &FlatSchema,
        subject: &Subject<'_>,
        undeclared: bool,
        taken: &mut HashSet<String>,
    ) -> Additional {
        match &flat.additional {
            // A required property without a field has to be kept somewhere, or it would be lost
            // when written.
            AdditionalProperties::Unspecified if undeclared => kept_in_map(TypeRef::Any, taken),
            AdditionalProperties::Unspecified => Additional::Open,
            AdditionalProperties::Refused => Additional::Closed,
            AdditionalProperties::Any => kept_in_map(TypeRef::Any, taken),
            AdditionalProperties::Follow(id) => {
                let values = self.type_of(*id, &format!("{}AdditionalProperty", subject.name));
                kept_in_map(values, taken)
            }
        }
    }

    /// Returns the field of a property, which is known by its name in JSON and its name in Rust.
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
            json_text: None,
        }
    }

    /// Returns the `default` of the schema itself, but not that of a schema that it refers to. A
    /// default of null counts as none.
    ///
    /// A default in a referenced schema describes that schema wherever it is used. It must not fill
    /// in what the body of a partial update leaves out, which would reset the property.
    pub(super) fn own_default(&self, id: SchemaId) -> Option<Value> {
        match &self.contract.schema(id).kind {
            SchemaKind::Object(keywords) => {
                keywords.default.clone().filter(|value| !value.is_null())
            }
            SchemaKind::Bool(_) => None,
        }
    }
}

/// What the text of an event's data holds.
pub(super) struct EventContent {
    /// The schema of the JSON.
    schema: SchemaId,
    text: JsonText,
    /// Whether every text is accepted that holds such JSON.
    is_exact: bool,
}

/// Returns [`Additional::Kept`] with values of this type, in a field whose name is not taken.
fn kept_in_map(ty: TypeRef, taken: &mut HashSet<String>) -> Additional {
    Additional::Kept {
        ty,
        field: names::unique(taken, "additional_properties".to_owned()),
    }
}

/// Returns `dependentRequired` as it is written in JSON, if there is one.
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
