//! The contract: an OpenAPI document of either dialect, resolved, with a position for every part.
//!
//! Lowering has happened here once and for all: references are followed, 3.0 schemas are written in
//! the keywords of JSON Schema 2020-12 (as 3.1 has them), path-level parameters are merged into their
//! operations, document-level security and servers are filled in. Passes never look at the syntax.

use indexmap::IndexMap;
use serde_json::Value;

use crate::source::Span;

/// A whole document.
#[derive(Debug, Clone)]
pub struct Contract {
    /// Which dialect the document is written in.
    pub dialect: Dialect,
    /// What `format` means.
    pub formats: Formats,
    /// The `openapi` field as written, such as `3.1.0`.
    pub version: String,
    /// Title, version, description, licence.
    pub info: Info,
    /// Document-level servers.
    pub servers: Vec<Server>,
    /// Declared tags in order, then undeclared ones in the order of their first use.
    pub tags: Vec<Tag>,
    /// Operations in the document's order.
    pub operations: Vec<Operation>,
    /// Operations that the API calls on its client's side (3.1); `path` holds the webhook's name.
    pub webhooks: Vec<Operation>,
    /// Every schema, component or inline.
    pub schemas: Vec<Schema>,
    /// Component schemas by name, in the document's order.
    pub components: IndexMap<String, SchemaId>,
    /// Security schemes by name, in the document's order.
    pub security_schemes: IndexMap<String, SecurityScheme>,
    /// Document-level security: what protects an operation that says nothing itself, and unknown routes.
    pub security: Security,
    /// The paging convention (`x-paging` at the top level).
    pub paging: Option<Paging>,
    /// The whole document as JSON, in its author's words and order. Of several files it is the one that they were
    /// gathered into, with references that lead there.
    pub document: Value,
    /// The author's text, where the whole contract is one file of YAML.
    pub yaml: Option<String>,
}

/// The dialects that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAPI 3.0.x
    V30,
    /// OpenAPI 3.1.x
    V31,
}

/// What `format` means, which JSON Schema leaves to its reader (2020-12 Validation, section 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Formats {
    /// A known format refuses what is not of it.
    #[default]
    Assertion,
    /// A format describes, and refuses nothing.
    Annotation,
}

/// The `info` object.
#[derive(Debug, Clone, Default)]
pub struct Info {
    /// The API's title.
    pub title: String,
    /// The contract's version.
    pub version: String,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// The licence's SPDX expression or name.
    pub license: Option<String>,
}

/// A server of the API.
#[derive(Debug, Clone)]
pub struct Server {
    /// The URL, possibly with `{variables}`.
    pub url: String,
    /// A description.
    pub description: Option<String>,
    /// Variables of the URL.
    pub variables: IndexMap<String, ServerVariable>,
}

/// A variable in a server's URL.
#[derive(Debug, Clone)]
pub struct ServerVariable {
    /// The value when none is given.
    pub default: String,
    /// The only values, if limited.
    pub allowed: Vec<String>,
    /// A description.
    pub description: Option<String>,
}

/// A group of operations.
#[derive(Debug, Clone)]
pub struct Tag {
    /// The name as the document spells it.
    pub name: String,
    /// A description in `CommonMark`.
    pub description: Option<String>,
}

/// The methods that OpenAPI knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are HTTP's methods")]
pub enum Method {
    Get,
    Put,
    Post,
    Delete,
    Options,
    Head,
    Patch,
    Trace,
}

impl Method {
    /// The method as HTTP spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Head => "HEAD",
            Self::Patch => "PATCH",
            Self::Trace => "TRACE",
        }
    }

    /// The key of a path item.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Post => "post",
            Self::Delete => "delete",
            Self::Options => "options",
            Self::Head => "head",
            Self::Patch => "patch",
            Self::Trace => "trace",
        }
    }
}

/// One operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The operation id, given or derived from method and path (stable: neither order nor neighbours matter).
    pub id: String,
    /// Whether the id was derived.
    pub id_is_derived: bool,
    /// The method.
    pub method: Method,
    /// The path template as written, `/project/{project_id}`.
    pub path: String,
    /// The template in parts.
    pub segments: Vec<PathPart>,
    /// The first tag, or none.
    pub tag: Option<String>,
    /// One line.
    pub summary: Option<String>,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// Whether it is deprecated.
    pub deprecated: bool,
    /// Parameters, those of the path item included, in order: path item first, overridden in place.
    pub parameters: Vec<Parameter>,
    /// The body.
    pub request_body: Option<RequestBody>,
    /// Answers, in the document's order.
    pub responses: Vec<Response>,
    /// What protects it, the document's security filled in.
    pub security: Security,
    /// Servers, if the operation or its path says so.
    pub servers: Vec<Server>,
    /// Calls that the API makes back, by name; `path` holds the run-time expression.
    pub callbacks: Vec<Operation>,
    /// Pointer to the operation, such as `/paths/~1pets/get`.
    pub pointer: String,
    /// Where it stands (the method's key).
    pub span: Span,
}

/// A piece of a path template. `/a/{b}.json` is `Literal("/a/")`, `Parameter("b")`, `Literal(".json")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPart {
    /// Text.
    Literal(String),
    /// A parameter's name.
    Parameter(String),
}

/// Where a parameter travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are OpenAPI's words")]
pub enum Location {
    Path,
    Query,
    Header,
    Cookie,
}

/// How an array or object is written in a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are OpenAPI's words")]
pub enum Style {
    Matrix,
    Label,
    Simple,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// A parameter of an operation, or a header of an answer.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The name on the wire.
    pub name: String,
    /// Where it travels. Headers of answers say `Header`.
    pub location: Location,
    /// Whether it must be there.
    pub required: bool,
    /// Whether it is deprecated.
    pub deprecated: bool,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// How its value is written.
    pub encoding: ParameterEncoding,
    /// The type.
    pub schema: SchemaId,
    /// Name under `components/parameters` or `components/headers`, if referenced from there.
    pub component: Option<String>,
    /// Extensions (`x-…`) as JSON.
    pub extensions: IndexMap<String, Value>,
    /// Pointer to where it is declared.
    pub pointer: String,
    /// Where it stands.
    pub span: Span,
}

/// How a parameter's value becomes text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterEncoding {
    /// By `style` and `explode`, defaults filled in.
    Style {
        /// The style.
        style: Style,
        /// Whether each item has a name of its own.
        explode: bool,
        /// Whether reserved characters stay as they are (query).
        allow_reserved: bool,
    },
    /// As a document of this media type (`content`).
    Content(String),
}

/// The body of a request.
#[derive(Debug, Clone)]
pub struct RequestBody {
    /// Whether it must be there.
    pub required: bool,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// What it may be.
    pub content: Vec<MediaType>,
    /// Name under `components/requestBodies`, if referenced from there.
    pub component: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// A media type of a body or an answer.
#[derive(Debug, Clone)]
pub struct MediaType {
    /// The name as written, such as `application/json` or `image/*`.
    pub name: String,
    /// The type, unless anything goes.
    pub schema: Option<SchemaId>,
    /// How each property of a form or multipart body is written.
    pub encoding: IndexMap<String, PropertyEncoding>,
    /// Examples by name (`example` is called `default`).
    pub examples: IndexMap<String, Value>,
    /// Pointer to it.
    pub pointer: String,
    /// Where it stands.
    pub span: Span,
}

/// How a property of a form or multipart body is written.
#[derive(Debug, Clone)]
pub struct PropertyEncoding {
    /// Media type of the part.
    pub content_type: Option<String>,
    /// The style (forms).
    pub style: Option<Style>,
    /// Whether each item has a name of its own (forms).
    pub explode: Option<bool>,
    /// Headers of the part (multipart).
    pub headers: Vec<Parameter>,
}

/// Which statuses an answer is for. Sorted: codes, ranges, default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatusKey {
    /// One status, 100 to 599.
    Code(u16),
    /// `1XX` to `5XX`; holds the first digit.
    Range(u8),
    /// Every status that nothing else lists.
    Default,
}

impl std::fmt::Display for StatusKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Range(digit) => write!(f, "{digit}XX"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// An answer of an operation.
#[derive(Debug, Clone)]
pub struct Response {
    /// For which statuses.
    pub status: StatusKey,
    /// A description in `CommonMark`.
    pub description: String,
    /// Headers, `Content-Type` left out as the standard says.
    pub headers: Vec<Parameter>,
    /// What the body may be; empty for no body.
    pub content: Vec<MediaType>,
    /// Name under `components/responses`, if referenced from there.
    pub component: Option<String>,
    /// Pointer to where it is declared.
    pub pointer: String,
    /// Where it stands.
    pub span: Span,
}

/// Alternatives, each a set of schemes that must all hold. Empty: open to everyone.
/// An alternative without schemes means that a credential is welcome but not needed.
pub type Security = Vec<SecurityRequirement>;

/// One alternative: scheme names with the scopes they need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityRequirement {
    /// Scheme name and scopes, in the document's order.
    pub schemes: Vec<(String, Vec<String>)>,
}

/// A security scheme.
#[derive(Debug, Clone)]
pub struct SecurityScheme {
    /// What kind.
    pub kind: SecurityKind,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of security scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityKind {
    /// A value in a header, query parameter or cookie.
    ApiKey {
        /// The name on the wire.
        name: String,
        /// Where it travels.
        location: Location,
    },
    /// `Authorization: Basic …`
    HttpBasic,
    /// `Authorization: Bearer …`
    HttpBearer,
    /// Another scheme of the `Authorization` header.
    Http(String),
    /// OAuth 2: travels as a bearer token.
    OAuth2,
    /// `OpenID` Connect: travels as a bearer token.
    OpenIdConnect(String),
    /// A client certificate.
    MutualTls,
}

/// The paging convention, `x-paging`. Each field names a parameter or property.
///
/// An operation is a list when it has the cursor's query parameter and its success answer is an object
/// whose `items` property is an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    /// Query parameter that takes the last seen item's key.
    pub start_after: String,
    /// Query parameter that takes the number of items.
    pub page_size: String,
    /// Query parameter whose value names the item's property that is the key.
    pub order_column: Option<String>,
    /// Property of the answer that holds the items.
    pub items: String,
    /// Property of the answer that holds the size of the whole list.
    pub count: Option<String>,
    /// Property of an item that is the key unless `order_column` says otherwise.
    pub key: String,
}

/// Index of a schema in [`Contract::schemas`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId(pub u32);

impl Contract {
    /// The schema behind an index.
    #[must_use]
    pub fn schema(&self, id: SchemaId) -> &Schema {
        &self.schemas[id.0 as usize]
    }

    /// Follows `$ref`s that stand alone (no sibling keyword that constrains) to the schema they mean.
    #[must_use]
    pub fn resolve(&self, mut id: SchemaId) -> SchemaId {
        // The reader refuses circular references, so this ends.
        while let SchemaKind::Object(keywords) = &self.schema(id).kind {
            match keywords.reference {
                Some(target) if keywords.only_reference => id = target,
                _ => break,
            }
        }
        id
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

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Types(pub u8);

impl Types {
    /// `null`
    pub const NULL: Self = Self(1);
    /// `boolean`
    pub const BOOLEAN: Self = Self(2);
    /// `integer`
    pub const INTEGER: Self = Self(4);
    /// `number`, which includes integers
    pub const NUMBER: Self = Self(8);
    /// `string`
    pub const STRING: Self = Self(16);
    /// `array`
    pub const ARRAY: Self = Self(32);
    /// `object`
    pub const OBJECT: Self = Self(64);

    /// Whether all of `other` is in the set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set without `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
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
