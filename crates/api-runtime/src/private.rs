//! Functions and types that expansions of the derives use. Not part of the public interface: it
//! changes without notice.

pub use serde;
pub use serde_json::{self, Value, json};

#[cfg(feature = "fake")]
pub use proptest;
#[cfg(feature = "schemars")]
pub use schemars;
#[cfg(feature = "utoipa")]
pub use utoipa;

pub use crate::alternatives::{NONE_MATCHES, SEVERAL_MATCH, any_of, one_of};
pub use crate::constraint::{Bounds, Items, Text, entries, json_eq};
pub use crate::json_text::{JsonText, json_text_entry, optional_json_text_entry};
pub use crate::object::{
    Properties, count, depends, entry, fill, first_missing, next_or_add, next_or_skip, object,
    one_if_some, optional_entry, other_entries,
};
pub use crate::wire::{list_of_at_most, map_of_at_most};

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

use crate::{ConstraintError, Wire, is_lenient};

/// Parses a JSON text from an attribute. Returns null for any other text, which the derive has
/// rejected before.
#[must_use]
pub fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Decodes the default of a property that is absent from a decoded object. `text` is JSON.
fn default<T: Wire, E: Error>(text: &str) -> Result<T, E> {
    T::decode(parsed(text)).map_err(|error| {
        E::custom(format_args!(
            "the default of the contract does not fit its schema: {error}"
        ))
    })
}

/// Returns the value of a decoded property, or its default if it is absent. `text` is the default as
/// JSON.
pub fn or_default<T: Wire, E: Error>(slot: Option<T>, text: &str) -> Result<T, E> {
    match slot {
        Some(value) => Ok(value),
        None => default(text),
    }
}

/// Decodes the default of a property of a value that is created in Rust. `text` is JSON.
///
/// # Panics
///
/// If the default does not fit its schema. The generator rejects such a contract.
#[must_use]
pub fn default_value<T: Wire>(text: &str) -> T {
    T::decode(parsed(text))
        .expect("the generator rejects a default that its schema does not accept")
}

/// Decodes a JSON value as a variant of a union. `variant` makes the union from the variant's type.
pub fn variant<T: Wire, U, E: Error>(value: Value, variant: fn(T) -> U) -> Result<U, E> {
    T::decode(value).map(variant).map_err(E::custom)
}

/// Decodes a string with `read`, without allocating a `String`.
pub fn read_text<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    read: impl Fn(&str) -> Result<T, ConstraintError>,
) -> Result<T, D::Error> {
    struct Text<F>(F);
    impl<T, F: Fn(&str) -> Result<T, ConstraintError>> Visitor<'_> for Text<F> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Text(read))
}

/// Decodes a value of an extensible enumeration. `listed` returns the variant for a string that the
/// schema lists, and `unlisted` that for another, which only lenient mode accepts.
///
/// # Errors
///
/// If the value is not one of `values`, and decoding is strict.
pub fn read_listed<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    listed: impl Fn(&str) -> Option<T>,
    unlisted: impl Fn(String) -> T,
    values: &'static [&'static str],
) -> Result<T, D::Error> {
    read_text(deserializer, |text| match listed(text) {
        Some(value) => Ok(value),
        // In an arm of its own, so that reading a listed value never looks at the mode, which is a
        // thread-local.
        None if is_lenient() => Ok(unlisted(text.to_owned())),
        None => Err(ConstraintError::Enum(values)),
    })
}

/// Returns the tag of a union's value: the string in the property that selects the variant. Returns
/// an error if the value has no such string.
pub fn tag<'v, E: Error>(value: &'v Value, property: &str) -> Result<&'v str, E> {
    value.get(property).and_then(Value::as_str).ok_or_else(|| {
        E::custom(format_args!(
            "property `{property}` is required and must be a string: it selects the variant"
        ))
    })
}

/// Returns the string in the property that selects a union's variant, if there is one.
#[must_use]
pub fn optional_tag(value: &Value, property: &str) -> Option<String> {
    value.get(property)?.as_str().map(str::to_owned)
}

/// Returns the error for a tag that no variant has.
#[must_use]
pub fn unknown_tag<E: Error>(property: &str, known: &[&str]) -> E {
    E::custom(format_args!(
        "property `{property}` must be one of `{}`",
        known.join("`, `")
    ))
}

/// Adds OpenAPI's `discriminator` to the schema of a union. `mapping` has each tag with the
/// component of its variant. The tag of an inline variant, which has no component, is left out.
#[must_use]
pub fn discriminated(
    schema: Value,
    property: &str,
    mapping: &[(&str, Option<&'static str>)],
) -> Value {
    let targets: serde_json::Map<String, Value> = mapping
        .iter()
        .filter_map(|(tag, name)| {
            // A mapping can only name components, and an inline variant is none.
            Some((
                (*tag).to_owned(),
                format!("#/components/schemas/{}", (*name)?).into(),
            ))
        })
        .collect();
    let mut discriminator = json!({"propertyName": property});
    if !targets.is_empty() {
        discriminator["mapping"] = Value::Object(targets);
    }
    crate::described::with(schema, &[("discriminator", discriminator)])
}

/// Adds the default to the `discriminator` of a union's schema: the component of the variant that is
/// selected where no value of the tag selects one.
#[must_use]
pub fn defaulting(mut schema: Value, name: Option<&'static str>) -> Value {
    // Only a component can be named.
    if let Some(name) = name {
        schema["discriminator"]["defaultMapping"] = format!("#/components/schemas/{name}").into();
    }
    schema
}

/// Checks a JSON value against the compiled schema at `pointer`.
#[cfg(feature = "jsonschema")]
pub fn check<E: Error>(schemas: &crate::Schemas, pointer: &str, value: &Value) -> Result<(), E> {
    schemas
        .validate(pointer, value)
        .map_err(|violations| E::custom(joined(&violations)))
}

/// Checks a value, encoded as JSON, against the compiled schema at `pointer`.
#[cfg(feature = "jsonschema")]
pub fn constraint_check<T: serde::Serialize + ?Sized>(
    schemas: &crate::Schemas,
    pointer: &str,
    value: &T,
) -> Result<(), ConstraintError> {
    let value =
        serde_json::to_value(value).map_err(|error| ConstraintError::Schema(error.to_string()))?;
    schemas
        .validate(pointer, &value)
        .map_err(|violations| ConstraintError::Schema(joined(&violations)))
}

/// Returns the schema at `pointer`, or the schema `true` if there is none.
#[cfg(feature = "jsonschema")]
#[must_use]
pub fn schema_at(schemas: &crate::Schemas, pointer: &str) -> Value {
    schemas
        .document()
        .pointer(pointer)
        .cloned()
        .unwrap_or(Value::Bool(true))
}

#[cfg(feature = "jsonschema")]
fn joined(violations: &[crate::Violation]) -> String {
    let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
    words.join("; ")
}
