//! Operations with their parameters, bodies and responses.

use contract::model::{
    Location, Method, ParameterEncoding, PathPart, SchemaId, Security, StatusKey,
};
use serde_json::Value;

use super::{PagedOperation, TypeRef};

/// One operation.
#[derive(Debug)]
pub struct Operation {
    /// Index into [`Contract::operations`](contract::Contract::operations).
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
    /// Index into [`Api::tags`](super::Api::tags).
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
    /// Index into [`Contract::operations`](contract::Contract::operations)' responses.
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
