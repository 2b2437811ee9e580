//! What the passes read: the contract with every Rust name and type decided.
//!
//! [`lower`](crate::lower) makes it once; a pass never looks at a schema's keywords to choose a type, and never
//! invents a name.

use std::collections::BTreeSet;

use contract::Contract;
use contract::model::{
    Location, Method, ParameterEncoding, PathPart, SchemaId, Security, SecurityKind, StatusKey,
};
use serde_json::{Number, Value};

/// An API, ready to be written as Rust.
#[derive(Debug)]
pub struct Api<'c> {
    /// The contract it came from: descriptions, servers, the document itself.
    pub contract: &'c Contract,
    /// What the crates are called.
    pub names: CrateNames,
    /// Groups of operations, declared order first. Each is a module and a cargo feature.
    pub tags: Vec<Tag>,
    /// Every item of the types crate: components in the document's order, then inline ones as they were met.
    pub types: Vec<TypeDef>,
    /// Every operation, in the document's order.
    pub operations: Vec<Operation>,
    /// Security schemes that some operation uses, in the document's order.
    pub security: Vec<SecurityScheme>,
    /// The type of every error body, when all 4XX, 5XX and default responses with a body agree on one JSON type.
    pub error: Option<TypeRef>,
}

/// Names of the crates that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateNames {
    /// Such as `api`; kebab-case.
    pub prefix: String,
    /// Whether the operations are those that the API calls on its client's side.
    pub is_reversed: bool,
}

impl CrateNames {
    /// Package name of a part: `types`, `client`, `server`. Both directions share one types crate.
    #[must_use]
    pub fn package(&self, part: &str) -> String {
        let part = match part {
            "client" if self.is_reversed => "webhook-sender",
            "server" if self.is_reversed => "webhook-receiver",
            part => part,
        };
        format!("{}-{part}", self.prefix)
    }

    /// The same as an identifier.
    #[must_use]
    pub fn krate(&self, part: &str) -> String {
        self.package(part).replace('-', "_")
    }
}

/// A group of operations.
#[derive(Debug, Clone)]
pub struct Tag {
    /// The name in the document; none for operations without a tag.
    pub name: Option<String>,
    /// Module and file name, `snake_case`: `load_balancer`.
    pub module: String,
    /// Cargo feature: `load-balancer` would differ from the tag's own spelling, so it is the module's name.
    pub feature: String,
    /// The server's trait: `LoadBalancerApi`.
    pub server_trait: String,
    /// The client's trait: `ClientLoadBalancerExt`.
    pub client_trait: String,
    /// A description in `CommonMark`.
    pub description: Option<String>,
}

/// Index into [`Api::types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub usize);

/// One item of the types crate.
#[derive(Debug, Clone)]
pub struct TypeDef {
    /// Rust name, `PascalCase`, unique in the crate.
    pub name: String,
    /// The schema it says.
    pub schema: SchemaId,
    /// Component name, if it is one.
    pub component: Option<String>,
    /// The tags whose operations reach it. One tag: it lives in that tag's module, behind its feature.
    /// None or several: it lives in `shared`.
    pub tags: BTreeSet<usize>,
    /// A request carries it (parameters and bodies).
    pub in_request: bool,
    /// A response carries it.
    pub in_response: bool,
    /// What it is.
    pub kind: TypeKind,
}

/// The forms of item.
#[derive(Debug, Clone)]
pub enum TypeKind {
    /// `pub type A = B;` for a component that only refers.
    Alias(TypeRef),
    /// A struct with named fields.
    Object(Object),
    /// A newtype over a string or number.
    Scalar(Scalar),
    /// A newtype over a list.
    Array(Array),
    /// A newtype over a map.
    Map(Map),
    /// A fixed set of values.
    Enumeration(Enumeration),
    /// One of several types.
    Union(Union),
    /// Any JSON, checked by the compiled schema if `check` is set.
    Json {
        /// Pointer into the schema bundle.
        check: Option<String>,
    },
}

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

impl Scalar {
    /// Whether any value of the inner type will do.
    #[must_use]
    pub fn is_unconstrained(&self) -> bool {
        self.min_length.is_none()
            && self.max_length.is_none()
            && self.pattern.is_none()
            && self.minimum.is_none()
            && self.maximum.is_none()
            && self.exclusive_minimum.is_none()
            && self.exclusive_maximum.is_none()
            && self.multiple_of.is_none()
            && self.check.is_none()
            && !self.format.as_deref().is_some_and(format_is_enforced)
    }

    /// Returns the format of a text that the run time does not check. It is an annotation of the schema only.
    pub(crate) fn documented_format(&self) -> Option<&str> {
        self.format
            .as_deref()
            .filter(|format| self.inner == Primitive::String && !format_is_enforced(format))
    }
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
    pub choice: Choice,
    /// The variants in the document's order.
    pub variants: Vec<Variant>,
    /// Pointer into the schema bundle when keywords remain.
    pub check: Option<String>,
}

/// How a union's variant is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
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

/// Rust's own types that stand for schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are Rust's names")]
pub enum Primitive {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    String,
    Ipv4Addr,
    Ipv6Addr,
}

/// A type as a field or parameter names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TypeRef {
    /// An item of the types crate.
    Named(TypeId),
    /// One of Rust's own.
    Primitive(Primitive),
    /// `Vec<T>`
    Vec(Box<TypeRef>),
    /// `BTreeMap<String, T>`
    Map(Box<TypeRef>),
    /// `Option<T>`: null or a value.
    Nullable(Box<TypeRef>),
    /// `Box<T>`, where a type would hold itself.
    Boxed(Box<TypeRef>),
    /// `serde_json::Value`
    Any,
}

/// One operation.
#[derive(Debug)]
pub struct Operation {
    /// Index into [`Contract::operations`].
    pub index: usize,
    /// The operation id as the document spells it (or as it was derived).
    pub id: String,
    /// Rust identifier, `snake_case`, unique: `load_balancer_list`.
    pub name: String,
    /// The same in `PascalCase`: `LoadBalancerList`.
    pub pascal: String,
    /// The method.
    pub method: Method,
    /// The path as written.
    pub path: String,
    /// The path in parts.
    pub segments: Vec<PathPart>,
    /// Index into [`Api::tags`].
    pub tag: usize,
    /// Summary and description, joined.
    pub docs: String,
    /// Whether it is deprecated.
    pub deprecated: bool,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// The body.
    pub body: Option<Body>,
    /// Responses: codes, ranges, default.
    pub responses: Vec<Response>,
    /// What protects it.
    pub security: Security,
    /// How to walk it, if it is a list.
    pub paging: Option<PagedOperation>,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The name on the wire.
    pub wire: String,
    /// Rust identifier, unique in the operation (body's name `body` included).
    pub name: String,
    /// Where it travels.
    pub location: Location,
    /// How its value is written.
    pub encoding: ParameterEncoding,
    /// The type, without the `Option` of absence.
    pub ty: TypeRef,
    /// Its schema.
    pub schema: SchemaId,
    /// Whether it must be there.
    pub required: bool,
    /// What its absence means.
    pub default: Option<Value>,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// Whether it is deprecated.
    pub deprecated: bool,
}

/// The body of a request.
#[derive(Debug, Clone)]
pub struct Body {
    /// Whether it must be there.
    pub required: bool,
    /// What it may be, in the document's order.
    pub media: Vec<Media>,
    /// A description in `CommonMark`.
    pub description: Option<String>,
}

/// A media type of a body or a response.
#[derive(Debug, Clone)]
pub struct Media {
    /// The name as written.
    pub name: String,
    /// How it is read and written.
    pub kind: MediaKind,
    /// The type; none for raw bytes and streams.
    pub ty: Option<TypeRef>,
    /// Its schema.
    pub schema: Option<SchemaId>,
}

/// How a media type is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// `application/json`, `*/*+json`, `text/json`
    Json,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `multipart/*`
    Multipart,
    /// `text/plain` and other text that holds a scalar
    Text,
    /// `text/event-stream`
    EventStream,
    /// Anything else: bytes.
    Bytes,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Response {
    /// For which statuses.
    pub status: StatusKey,
    /// Variant name: `Ok`, `NotFound`, `ServerError` for 5XX, `Default`.
    pub name: String,
    /// Index into [`Contract::operations`]' responses.
    pub index: usize,
    /// Name under `components/responses` in `PascalCase`, if it comes from there.
    pub component: Option<String>,
    /// A description in `CommonMark`.
    pub description: String,
    /// Headers.
    pub headers: Vec<Parameter>,
    /// What the body may be; empty for none.
    pub media: Vec<Media>,
}

impl Response {
    /// Whether it is listed as a success or redirection, so that it belongs to the response and not the error.
    #[must_use]
    pub fn is_success(&self) -> bool {
        match self.status {
            StatusKey::Code(code) => code < 400,
            StatusKey::Range(digit) => digit < 4,
            StatusKey::Default => false,
        }
    }
}

/// How to walk a list.
#[derive(Debug, Clone)]
pub struct PagedOperation {
    /// Index into the parameters: the cursor.
    pub start_after: usize,
    /// Index into the parameters: the page's size.
    pub page_size: Option<usize>,
    /// Index into the parameters: the order.
    pub order_column: Option<usize>,
    /// Field of the page that holds the items.
    pub items: String,
    /// The items' type.
    pub item: TypeRef,
    /// The page's type.
    pub page: TypeRef,
    /// Property of an item that is the cursor when no order is given.
    pub key: String,
}

/// A security scheme in use.
#[derive(Debug, Clone)]
pub struct SecurityScheme {
    /// The name in the document.
    pub wire: String,
    /// Rust identifier: `bearer`.
    pub name: String,
    /// What kind.
    pub kind: SecurityKind,
    /// A description in `CommonMark`.
    pub description: Option<String>,
}

impl Api<'_> {
    /// The item behind an index.
    #[must_use]
    pub fn type_def(&self, id: TypeId) -> &TypeDef {
        &self.types[id.0]
    }

    /// Whether some name in Rust is written in other letters than ASCII's.
    #[must_use]
    pub fn has_other_letters(&self) -> bool {
        let of_operations = self.operations.iter().any(|operation| {
            let inputs = operation.parameters.iter().map(|parameter| &parameter.name);
            let outputs = operation
                .responses
                .iter()
                .flat_map(|response| &response.headers)
                .map(|header| &header.name);
            inputs
                .chain(outputs)
                .chain([&operation.name])
                .any(|name| !name.is_ascii())
        });
        of_operations
            || self.tags.iter().any(|tag| !tag.module.is_ascii())
            || self
                .types
                .iter()
                .any(|def| !def.name.is_ascii() || def.kind.has_other_letters())
    }

    /// The operations of a tag, in the document's order.
    pub fn operations_of(&self, tag: usize) -> impl Iterator<Item = &Operation> {
        self.operations
            .iter()
            .filter(move |operation| operation.tag == tag)
    }
}

impl TypeKind {
    /// Whether the name of a part is written in other letters than ASCII's.
    fn has_other_letters(&self) -> bool {
        match self {
            Self::Object(object) => object.fields.iter().any(|field| !field.name.is_ascii()),
            Self::Enumeration(values) => values.variants.iter().any(|(name, _)| !name.is_ascii()),
            Self::Union(union) => union
                .variants
                .iter()
                .any(|variant| !variant.name.is_ascii()),
            Self::Alias(_)
            | Self::Scalar(_)
            | Self::Array(_)
            | Self::Map(_)
            | Self::Json { .. } => false,
        }
    }

    /// The items that an item mentions.
    #[must_use]
    pub fn mentions(&self) -> Vec<TypeId> {
        let mut ids = Vec::new();
        match self {
            Self::Alias(ty) => ty.mentions_into(&mut ids),
            Self::Object(object) => {
                for field in &object.fields {
                    field.ty.mentions_into(&mut ids);
                }
                if let Additional::Kept { ty, .. } = &object.additional {
                    ty.mentions_into(&mut ids);
                }
            }
            Self::Array(array) => array.items.mentions_into(&mut ids),
            Self::Map(map) => map.values.mentions_into(&mut ids),
            Self::Union(union) => {
                for variant in &union.variants {
                    variant.ty.mentions_into(&mut ids);
                }
            }
            Self::Scalar(_) | Self::Enumeration(_) | Self::Json { .. } => {}
        }
        ids
    }
}

impl TypeRef {
    /// Whether it mentions an item.
    pub(crate) fn mentions(&self, id: TypeId) -> bool {
        let mut ids = Vec::new();
        self.mentions_into(&mut ids);
        ids.contains(&id)
    }

    /// Adds the items that a type mentions.
    pub(crate) fn mentions_into(&self, ids: &mut Vec<TypeId>) {
        match self {
            Self::Named(id) => ids.push(*id),
            Self::Vec(inner) | Self::Map(inner) | Self::Nullable(inner) | Self::Boxed(inner) => {
                inner.mentions_into(ids);
            }
            Self::Primitive(_) | Self::Any => {}
        }
    }
}
