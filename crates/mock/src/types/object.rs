//! Objects, as structs of generated types read them.

use std::collections::BTreeSet;
use std::fmt;

use api_runtime::__private::{count, depends};
use api_runtime::Wire as _;
use codegen::ir::{Additional, Object, TypeRef};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::visit::{Nullable, duplicate, shown};
use super::{Expected, size};

/// Decodes an object by its declared properties.
pub(super) fn read<'de, D: Deserializer<'de>>(
    expected: Expected,
    object: &'static Object,
    deserializer: D,
) -> Result<Value, D::Error> {
    deserializer.deserialize_map(Properties { expected, object })
}

struct Properties {
    expected: Expected,
    object: &'static Object,
}

/// The form of a property's value.
#[derive(Clone, Copy)]
struct Slot {
    expected: Expected,
    ty: &'static TypeRef,
    is_nullable: bool,
    /// Whether the value is a string that holds the JSON of the type.
    is_json_text: bool,
}

impl<'de> DeserializeSeed<'de> for Slot {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.is_json_text {
            return self.json_text(deserializer);
        }
        let inner = self.expected.with(self.ty);
        if self.is_nullable {
            deserializer.deserialize_option(Nullable(inner))
        } else {
            inner.deserialize(deserializer)
        }
    }
}

impl Slot {
    /// Decodes a string, and the JSON in it.
    fn json_text<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let text = String::decode(deserializer)?;
        let content = Self {
            is_json_text: false,
            ..self
        };
        let mut inner = serde_json::Deserializer::from_str(&text);
        content
            .deserialize(&mut inner)
            .and_then(|_| inner.end())
            .map_err(D::Error::custom)?;
        Ok(Value::String(text))
    }
}

impl<'de> Visitor<'de> for Properties {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let Self { expected, object } = self;
        let mut made = Map::new();
        let mut seen = BTreeSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            let field = object.fields.iter().find(|field| field.wire == name);
            let slot = match (field, &object.additional) {
                (Some(field), _) => Slot {
                    expected,
                    ty: &field.ty,
                    is_nullable: field.nullable,
                    is_json_text: field.json_text.is_some(),
                },
                (None, Additional::Closed) => {
                    let message = format!("unknown property `{}`", shown(&name));
                    return Err(A::Error::custom(message));
                }
                (None, Additional::Open) => Slot {
                    expected,
                    ty: &TypeRef::Any,
                    is_nullable: false,
                    is_json_text: false,
                },
                (None, Additional::Kept { ty, .. }) => Slot {
                    expected,
                    ty,
                    is_nullable: false,
                    is_json_text: false,
                },
            };
            if !seen.insert(name.clone()) {
                return Err(duplicate(&name));
            }
            made.insert(name, entries.next_value_seed(slot)?);
        }
        rules(object, &made)?;
        let is_missing = |name: &String| !made.contains_key(name);
        let missing = object
            .fields
            .iter()
            .find(|field| field.required && field.default.is_none() && is_missing(&field.wire));
        if let Some(field) = missing {
            let message = format!("missing required property `{}`", field.wire);
            return Err(A::Error::custom(message));
        }
        Ok(Value::Object(made))
    }
}

/// Checks the number of properties, and `dependentRequired`.
fn rules<E: Error>(object: &Object, made: &Map<String, Value>) -> Result<(), E> {
    count(
        made.len(),
        object.min_properties.map(size),
        object.max_properties.map(size),
    )?;
    let has = |name: &str| made.contains_key(name);
    let dependent = object.dependent_required.as_ref();
    let dependent = dependent.and_then(Value::as_object).into_iter().flatten();
    for (name, needed) in dependent {
        let needed = needed.as_array().into_iter().flatten();
        let needed: Vec<&str> = needed.filter_map(Value::as_str).collect();
        depends(&has, name, &needed)?;
    }
    Ok(())
}
