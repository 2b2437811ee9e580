//! Schemas and their keywords.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde_json::Value;

use super::types::Types;
use crate::source::Span;

/// The number of links of a chain of `allOf` whose properties a type has as fields: with those of all
/// links, the types would grow with the square of the length. Contracts that people write have up to
/// ten links.
pub const MOST_LINKS: usize = 32;

/// The index of a schema in [`Contract::schemas`](super::Contract::schemas).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId(pub u32);

impl SchemaId {
    /// Returns the index.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the id of the schema at an index.
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("spans are 32 bits wide, so there are fewer schemas"))
    }
}

/// A schema.
#[derive(Debug, Clone)]
pub struct Schema {
    /// The name under `components/schemas`, if it is a component.
    pub component: Option<String>,
    /// The pointer in the bundle, such as `/components/schemas/Pet/properties/name`.
    ///
    /// It equals the pointer in the document except for two kinds of schemas: those of other files
    /// are under `/$files`, and those below a 3.0 schema that became `anyOf` of itself and null are
    /// below `/anyOf/0`.
    pub pointer: String,
    /// The span of the schema.
    pub span: Span,
    /// A boolean, or keywords.
    pub kind: SchemaKind,
}

/// The content of a schema: a boolean, or keywords.
#[derive(Debug, Clone)]
pub enum SchemaKind {
    /// `true` accepts everything, `false` nothing.
    Bool(bool),
    /// Keywords.
    Object(Box<Keywords>),
}

/// The keywords of a schema, as JSON Schema 2020-12 defines them, for either dialect.
///
/// 3.0's `nullable` has become the type `null` or an `anyOf` with it, and its boolean
/// `exclusiveMinimum` a number. A 3.0 schema with `$ref` has no other keyword.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a keyword of the standard"
)]
pub struct Keywords {
    /// The target of `$ref`.
    pub reference: Option<SchemaId>,
    /// Whether `$ref` has no keyword beside it that constrains values. Annotations may be beside
    /// it.
    pub only_reference: bool,
    /// `type`, or `None` if any type is accepted
    pub types: Option<Types>,
    /// `enum`
    pub enumeration: Option<Vec<Value>>,
    /// `const`
    pub constant: Option<Value>,

    /// `minimum`
    pub minimum: Option<serde_json::Number>,
    /// `maximum`
    pub maximum: Option<serde_json::Number>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: Option<serde_json::Number>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: Option<serde_json::Number>,
    /// `multipleOf`
    pub multiple_of: Option<serde_json::Number>,

    /// `minLength`, in characters
    pub min_length: Option<u64>,
    /// `maxLength`, in characters
    pub max_length: Option<u64>,
    /// `pattern`, an ECMA 262 regular expression, not anchored
    pub pattern: Option<String>,
    /// `format`
    pub format: Option<String>,
    /// `contentEncoding`
    pub content_encoding: Option<String>,
    /// `contentMediaType`
    pub content_media_type: Option<String>,
    /// `contentSchema`, if the schema is that of the data of one of several server-sent events
    pub event_content: Option<SchemaId>,

    /// `items`
    pub items: Option<SchemaId>,
    /// `prefixItems`
    pub prefix_items: Vec<SchemaId>,
    /// `contains`
    pub contains: Option<SchemaId>,
    /// `minContains`
    pub min_contains: Option<u64>,
    /// `maxContains`
    pub max_contains: Option<u64>,
    /// `minItems`
    pub min_items: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `unevaluatedItems`
    pub unevaluated_items: Option<SchemaId>,

    /// `properties`, in the document's order
    pub properties: IndexMap<String, SchemaId>,
    /// `required`
    pub required: Vec<String>,
    /// `additionalProperties`
    pub additional_properties: Option<SchemaId>,
    /// `patternProperties`
    pub pattern_properties: IndexMap<String, SchemaId>,
    /// `propertyNames`
    pub property_names: Option<SchemaId>,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// `dependentRequired`
    pub dependent_required: IndexMap<String, Vec<String>>,
    /// `dependentSchemas`
    pub dependent_schemas: IndexMap<String, SchemaId>,
    /// `unevaluatedProperties`
    pub unevaluated_properties: Option<SchemaId>,

    /// `allOf`
    pub all_of: Vec<SchemaId>,
    /// `anyOf`
    pub any_of: Vec<SchemaId>,
    /// `oneOf`
    pub one_of: Vec<SchemaId>,
    /// `not`
    pub not: Option<SchemaId>,
    /// `if`
    pub if_schema: Option<SchemaId>,
    /// `then`
    pub then_schema: Option<SchemaId>,
    /// `else`
    pub else_schema: Option<SchemaId>,
    /// OpenAPI's `discriminator`
    pub discriminator: Option<Discriminator>,

    /// `title`
    pub title: Option<String>,
    /// `description`
    pub description: Option<String>,
    /// `default`
    pub default: Option<Value>,
    /// `examples`, followed by `example`
    pub examples: Vec<Value>,
    /// `deprecated`
    pub deprecated: bool,
    /// `readOnly`
    pub read_only: bool,
    /// `writeOnly`
    pub write_only: bool,
    /// `x-extensible-enum: true`: the API may add values, so clients should accept unknown ones
    pub extensible: bool,
    /// `x-secret: true` or `format: password`: the value is never printed
    pub secret: bool,
    /// Every `x-…` keyword, including those above
    pub extensions: IndexMap<String, Value>,
    /// `$defs`
    pub defs: IndexMap<String, SchemaId>,
    /// The keywords as the author wrote them, without those that hold schemas.
    pub raw: Raw,
}

/// Keywords of a schema as the author wrote them, in this order. A list takes a third of the memory of
/// an object, and every schema has one.
pub type Raw = Vec<(Cow<'static, str>, Value)>;

/// OpenAPI's `discriminator`: a property whose value selects one of several schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discriminator {
    /// The property that selects the schema.
    pub property: String,
    /// The values of the property with their schemas: explicit ones first, then implied ones.
    pub mapping: Vec<(String, SchemaId)>,
    /// The schema that is selected if the property is absent or has no such value (3.2).
    pub default: Option<SchemaId>,
}
