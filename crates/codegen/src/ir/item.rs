//! What each form of item holds.

use contract::model::SchemaId;
use serde_json::{Number, Value};

use super::{Primitive, TypeRef};

/// A struct.
#[derive(Debug, Clone, Default)]
pub struct Object {
    /// Declared properties in the document's order.
    pub fields: Vec<Field>,
    /// Properties beyond those.
    pub additional: Additional,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// `dependentRequired`, as JSON
    pub dependent_required: Option<Value>,
    /// Pointer into the schema bundle when keywords remain that fields cannot say.
    pub check: Option<String>,
    /// What the struct of its required fields is called, where `…Fields` is another item's name.
    pub fields_name: Option<String>,
}

/// What an object does with properties that it does not declare.
#[derive(Debug, Clone, Default)]
pub enum Additional {
    /// Ignored.
    #[default]
    Open,
    /// Refused.
    Closed,
    /// Kept in a map with values of this type, in a field of this name.
    Kept {
        /// The values' type.
        ty: TypeRef,
        /// The field, `additional_properties` unless taken.
        field: String,
    },
}

/// A field of a struct.
#[derive(Debug, Clone)]
pub struct Field {
    /// The property's name on the wire.
    pub wire: String,
    /// Rust identifier, `r#` included where needed.
    pub name: String,
    /// The type without the `Option`s of absence and null.
    pub ty: TypeRef,
    /// Whether the property must be there.
    pub required: bool,
    /// Whether it may be null.
    pub nullable: bool,
    /// What an absent property means.
    pub default: Option<Value>,
    /// The property's own schema, for its annotations.
    pub schema: SchemaId,
}

/// A newtype over a primitive.
#[derive(Debug, Clone)]
pub struct Scalar {
    /// What it wraps.
    pub inner: Primitive,
    /// `minLength`
    pub min_length: Option<u64>,
    /// `maxLength`
    pub max_length: Option<u64>,
    /// `pattern`
    pub pattern: Option<String>,
    /// `format`
    pub format: Option<String>,
    /// `minimum`
    pub minimum: Option<Number>,
    /// `maximum`
    pub maximum: Option<Number>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: Option<Number>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: Option<Number>,
    /// `multipleOf`
    pub multiple_of: Option<Number>,
    /// Whether it is never printed.
    pub secret: bool,
    /// Pointer into the schema bundle when keywords remain.
    pub check: Option<String>,
}

/// The formats that the run time checks; the others are documentation.
#[must_use]
pub fn format_is_enforced(format: &str) -> bool {
    matches!(
        format,
        "date-time"
            | "date"
            | "time"
            | "duration"
            | "email"
            | "idn-email"
            | "hostname"
            | "idn-hostname"
            | "ipv4"
            | "ipv6"
            | "uri"
            | "uri-reference"
            | "iri"
            | "iri-reference"
            | "uri-template"
            | "uuid"
            | "regex"
            | "json-pointer"
            | "relative-json-pointer"
            | "byte"
    )
}

/// A newtype over a list.
#[derive(Debug, Clone)]
pub struct Array {
    /// The items' type; nullable items are `Nullable`.
    pub items: TypeRef,
    /// `minItems`
    pub min_items: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// Pointer into the schema bundle when keywords remain.
    pub check: Option<String>,
}

/// A newtype over a map.
#[derive(Debug, Clone)]
pub struct Map {
    /// The values' type.
    pub values: TypeRef,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// Pointer into the schema bundle when keywords remain.
    pub check: Option<String>,
}

/// A fixed set of values.
#[derive(Debug, Clone)]
pub struct Enumeration {
    /// The values, each with its variant's name.
    pub variants: Vec<(String, Value)>,
    /// Whether every value is a string.
    pub strings: bool,
    /// Name of the variant for values that are not listed, if the enumeration may grow.
    pub unlisted: Option<String>,
}

/// One of several types.
#[derive(Debug, Clone)]
pub struct Union {
    /// How the variant is told.
    pub selection: Selection,
    /// The variants in the document's order.
    pub variants: Vec<Variant>,
    /// Pointer into the schema bundle when keywords remain.
    pub check: Option<String>,
}

/// How a union's variant is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// By the value of this property.
    Tag(String),
    /// Exactly one variant accepts.
    OneOf,
    /// The variant that accepts and keeps the most, the first of several.
    AnyOf,
}

/// A variant of a union.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Rust name.
    pub name: String,
    /// What it holds.
    pub ty: TypeRef,
    /// The tag's values that choose it.
    pub tags: Vec<String>,
    /// Whether no other variant holds the same type, so that `From` is unambiguous.
    pub from: bool,
}
