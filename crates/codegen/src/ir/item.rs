//! The items of the types crate, one struct for each form.

use contract::format::Check;
use contract::model::SchemaId;
use serde_json::{Number, Value};

use super::{Primitive, TypeRef};

/// A struct with named fields.
#[derive(Debug, Clone, Default)]
pub struct Object {
    /// The declared properties, in the document's order.
    pub fields: Vec<Field>,
    /// The treatment of properties that are not declared.
    pub additional: Additional,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// `dependentRequired`, as it is written in JSON
    pub dependent_required: Option<Value>,
    /// The pointer of the compiled schema, if it has keywords that the fields cannot express.
    pub check: Option<String>,
    /// The name of the struct of required fields, if `…Fields` is taken by another item.
    pub fields_name: Option<String>,
}

/// The treatment of properties that an object does not declare.
#[derive(Debug, Clone, Default)]
pub enum Additional {
    /// Undeclared properties are ignored.
    #[default]
    Open,
    /// Undeclared properties are rejected.
    Closed,
    /// Undeclared properties are kept in a map, in a field of their own.
    Kept {
        /// The type of the map's values.
        ty: TypeRef,
        /// The name of the field, `additional_properties` unless a property takes that name.
        field: String,
    },
}

/// A field of a struct.
#[derive(Debug, Clone)]
pub struct Field {
    /// The name of the property in JSON.
    pub wire: String,
    /// The Rust identifier, with `r#` where it is a keyword.
    pub name: String,
    /// The type, without the `Option`s that stand for absence and null.
    pub ty: TypeRef,
    /// Whether the property is required.
    pub required: bool,
    /// Whether the property may be null.
    pub nullable: bool,
    /// The value of an absent property (`default`).
    pub default: Option<Value>,
    /// The property's schema, which has its annotations.
    pub schema: SchemaId,
    /// Set if the property is a string that holds the JSON of the type, as the data of an event is.
    pub json_text: Option<JsonText>,
}

/// A string that holds JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText {
    /// `contentMediaType`, if the schema has it.
    pub media_type: Option<String>,
}

/// A newtype over a string or number.
#[derive(Debug, Clone)]
pub struct Scalar {
    /// The wrapped type.
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
    /// Whether the value is secret, so that its `Debug` output hides it.
    pub secret: bool,
    /// The pointer of the compiled schema, if it has keywords that the other fields cannot express.
    pub check: Option<String>,
}

impl Scalar {
    /// Returns whether the newtype rejects values of the type inside it.
    pub(crate) fn is_constrained(&self) -> bool {
        let is_text = self.inner == Primitive::String;
        let format = self.format.as_deref();
        self.min_length.is_some()
            || self.max_length.is_some()
            || self.pattern.is_some()
            || is_text && format.is_some_and(format_is_enforced)
            || self.minimum.is_some()
            || self.maximum.is_some()
            || self.exclusive_minimum.is_some()
            || self.exclusive_maximum.is_some()
            || self.multiple_of.is_some()
            || self.check.is_some()
    }
}

/// Returns whether generated types check a format. Every other format is documentation only.
///
/// The list is the contract's, see [`contract::format`], and the checks are in
/// `api_runtime::format`.
#[must_use]
pub fn format_is_enforced(format: &str) -> bool {
    contract::format::lookup(format).is_some_and(|format| format.check != Check::Nothing)
}

/// A newtype over a list.
#[derive(Debug, Clone)]
pub struct Array {
    /// The type of the items; [`TypeRef::Nullable`] if an item may be null.
    pub items: TypeRef,
    /// `minItems`
    pub min_items: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// The pointer of the compiled schema, if it has keywords that the other fields cannot express.
    pub check: Option<String>,
}

/// A newtype over a map.
#[derive(Debug, Clone)]
pub struct Map {
    /// The type of the values.
    pub values: TypeRef,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// The pointer of the compiled schema, if it has keywords that the other fields cannot express.
    pub check: Option<String>,
}

/// A fixed set of values.
#[derive(Debug, Clone)]
pub struct Enumeration {
    /// The name of each variant, with its value.
    pub variants: Vec<(String, Value)>,
    /// Whether every value is a string.
    pub strings: bool,
    /// The name of the variant for unlisted values, if the enumeration is extensible.
    pub unlisted: Option<String>,
}

/// One of several types.
#[derive(Debug, Clone)]
pub struct Union {
    /// The way in which the variant of a value is selected.
    pub selection: Selection,
    /// The variants, in the document's order.
    pub variants: Vec<Variant>,
    /// The pointer of the compiled schema, if it has keywords that the other fields cannot express.
    pub check: Option<String>,
}

/// The way in which the variant of a union is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The value of this property names the variant.
    Tag(String),
    /// The value of this property names the variant, and a value without it is tried.
    OptionalTag(String, Trial),
    /// Each variant is tried.
    Trial(Trial),
}

/// Which variant is selected of those that accept a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// The one that does; a value that two accept is rejected.
    OneOf,
    /// The one that keeps the most of it; the first of several that do.
    AnyOf,
}

impl Trial {
    /// Returns the trial of `oneOf`, if `exactly_one` is set, or else of `anyOf`.
    pub(crate) fn of(exactly_one: bool) -> Self {
        if exactly_one {
            Self::OneOf
        } else {
            Self::AnyOf
        }
    }
}

/// A variant of a union.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The Rust name.
    pub name: String,
    /// The type that the variant holds.
    pub ty: TypeRef,
    /// The values of the tag that select this variant.
    pub tags: Vec<String>,
    /// Whether an absent tag, or one that selects no variant, selects this one.
    pub is_default: bool,
    /// Whether no other variant holds the same type, so that `From<T>` can be implemented.
    pub from: bool,
}
