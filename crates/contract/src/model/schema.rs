//! Schemas: where they stand, and their keywords.

use indexmap::IndexMap;
use serde_json::Value;

use super::types::Types;
use crate::source::Span;

/// Index of a schema in [`Contract::schemas`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId(pub u32);

impl SchemaId {
    /// The index in the list of schemas.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The id of the schema at an index.
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("spans are 32 bits wide, so there are fewer schemas"))
    }
}

/// A schema and where it stands.
#[derive(Debug, Clone)]
pub struct Schema {
    /// Name under `components/schemas`, if it is a component.
    pub component: Option<String>,
    /// Pointer to it in the bundle, such as `/components/schemas/Pet/properties/name`.
    ///
    /// It is the pointer in the document, but for schemas of other files, which are under `/$files`, and for what is
    /// under a 3.0 schema that had to become `anyOf` of itself and null.
    pub pointer: String,
    /// Where it stands.
    pub span: Span,
    /// `true`, `false` or keywords.
    pub kind: SchemaKind,
}

/// A schema's form.
#[derive(Debug, Clone)]
pub enum SchemaKind {
    /// `true` accepts everything, `false` nothing.
    Bool(bool),
    /// Keywords.
    Object(Box<Keywords>),
}

/// The keywords of a schema, in the words of JSON Schema 2020-12 whatever the dialect.
///
/// 3.0's `nullable` has become a type, its boolean `exclusiveMinimum` a number; beside a 3.0 `$ref`
/// nothing else counts.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a keyword of the standard"
)]
pub struct Keywords {
    /// `$ref`, followed.
    pub reference: Option<SchemaId>,
    /// Whether nothing beside `$ref` constrains the value (annotations may stand there).
    pub only_reference: bool,
    /// `type`; absent means any.
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
    /// `examples`, and 3.0's `example`
    pub examples: Vec<Value>,
    /// `deprecated`
    pub deprecated: bool,
    /// `readOnly`
    pub read_only: bool,
    /// `writeOnly`
    pub write_only: bool,
    /// `x-extensible-enum: true`: values may be added, and old clients must not fail on them
    pub extensible: bool,
    /// `x-secret: true` or `format: password`: never printed
    pub secret: bool,
    /// Every `x-…` keyword, those above included
    pub extensions: IndexMap<String, Value>,
    /// `$defs`
    pub defs: IndexMap<String, SchemaId>,
    /// The keywords as the author wrote them, those that hold schemas left out: these have ids of their own.
    pub raw: Value,
}

/// How one of several schemas is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discriminator {
    /// The property that names the schema.
    pub property: String,
    /// Value of the property to schema, explicit and implied ones together, in order.
    pub mapping: Vec<(String, SchemaId)>,
}
