//! Operations with their parameters, bodies and responses.

use contract::Moment;
use contract::model::{
    Location, Method, ParameterEncoding, PathPart, SchemaId, Security, StatusKey,
};
use serde_json::Value;

use super::{PagedOperation, PartList, TypeRef};

/// An operation with its Rust names and types.
#[derive(Debug)]
pub struct Operation {
    /// The index into [`Contract::operations`](contract::Contract::operations).
    pub index: usize,
    /// The operation id as the document spells it, or as it was derived from method and path.
    pub id: String,
    /// The Rust identifier, in `snake_case`, unique in the API: `load_balancer_list`.
    pub name: String,
    /// The start of the names of the operation's types, in `PascalCase`: `LoadBalancerList`.
    pub pascal: String,
    /// The HTTP method.
    pub method: Method,
    /// The path template as the document writes it.
    pub path: String,
    /// The path template, split into literals and parameters, without the label.
    pub segments: Vec<PathPart>,
    /// The names and values of the query in the path's label, which every request has.
    pub query: Vec<(String, String)>,
    /// The index into [`Api::tags`](super::Api::tags).
    pub tag: usize,
    /// The summary and the description, as two paragraphs.
    pub docs: String,
    /// Whether the operation is deprecated.
    pub deprecated: bool,
    /// The moment since which the operation is deprecated, if the document has it.
    pub deprecation: Option<Moment>,
    /// The moment at which the operation ends, if the document has it.
    pub sunset: Option<Moment>,
    /// The parameters, in the document's order.
    pub parameters: Vec<Parameter>,
    /// The request body.
    pub body: Option<Body>,
    /// The responses: codes first, then ranges, then `default`.
    pub responses: Vec<Response>,
    /// The security requirements.
    pub security: Security,
    /// The method and path of the earlier operation that is the same request, so that a server never
    /// serves this one. `None` for nearly every operation.
    pub served_by: Option<String>,
    /// The parameters and properties for requesting page after page, if the operation is a list.
    pub paging: Option<PagedOperation>,
}

/// A parameter of a request, or a header of a response.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The name in the request or response.
    pub wire: String,
    /// The Rust identifier, unique among the parameters of the operation and never `body`.
    pub name: String,
    /// The part of the request that has the parameter: path, query, header or cookie.
    pub location: Location,
    /// Whether the parameter is the whole query, and its name is in no request.
    pub is_whole_query: bool,
    /// How the value is written as text.
    pub encoding: ParameterEncoding,
    /// The type, without the `Option` that stands for absence.
    pub ty: TypeRef,
    /// The schema of the value.
    pub schema: SchemaId,
    /// Whether the parameter is required.
    pub required: bool,
    /// The value that an absent parameter stands for.
    pub default: Option<Value>,
    /// The description, in `CommonMark`.
    pub description: Option<String>,
    /// Whether the parameter is deprecated.
    pub deprecated: bool,
}

/// A request body.
#[derive(Debug, Clone)]
pub struct Body {
    /// Whether the body is required.
    pub required: bool,
    /// The media types that it may have, in the document's order.
    pub media: Vec<Media>,
    /// The description, in `CommonMark`.
    pub description: Option<String>,
}

/// A media type of a request or response body.
#[derive(Debug, Clone)]
pub struct Media {
    /// The name as the document writes it.
    pub name: String,
    /// How a body of this media type is read and written.
    pub kind: MediaKind,
    /// Whether the document says any media type, so that JSON has to say that it is JSON.
    pub is_assumed: bool,
    /// The type of the body, of each item, or of the data of each event; `None` for bytes.
    pub ty: Option<TypeRef>,
    /// The schema of the body.
    pub schema: Option<SchemaId>,
    /// The properties of a form whose `encoding` says how they are written.
    pub fields: Vec<Parameter>,
    /// The parts of a multipart body, if they have positions and no names.
    pub parts: Option<PartList>,
}

impl Media {
    /// Returns every type that a body of this media type has values of.
    #[must_use]
    pub fn types(&self) -> Vec<&TypeRef> {
        let mut types: Vec<&TypeRef> = self.ty.iter().collect();
        if let Some(parts) = &self.parts {
            parts.collect_types(&mut types);
        }
        types
    }
}

/// How a body is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// `application/json`, `*/*+json`, `text/json`
    Json,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `multipart/*`
    Multipart,
    /// `text/plain` and other `text/*` whose schema is a string, number or boolean
    Text,
    /// `text/event-stream` whose events have no schema
    EventStream,
    /// A sequence of items of a type: JSON Lines, a JSON text sequence, or events
    Items,
    /// `text/event-stream` whose events have data of a type, in JSON
    TypedEvents,
    /// `multipart/*` whose parts have positions and no names
    Parts,
    /// `multipart/*` whose parts are read and sent one by one
    PartStream,
    /// Any other media type, as bytes
    Bytes,
}

/// A response of an operation.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status codes that it is for.
    pub status: StatusKey,
    /// The name of its variant: `Ok`, `NotFound`, `ServerError` for `5XX`, `Default`.
    pub name: String,
    /// The index into the responses of the contract's operation.
    pub index: usize,
    /// The Rust name of its component under `components/responses`, if it is one.
    pub component: Option<String>,
    /// Whether the framework makes the response (`x-rejection`), so that no handler returns it.
    ///
    /// True only for an error with one status that is a component, where no other component is the
    /// rejection with that status.
    pub is_rejection: bool,
    /// The summary and the description, as two paragraphs in `CommonMark`.
    pub description: String,
    /// The headers, without [`Api::request_id`](super::Api::request_id).
    pub headers: Vec<Parameter>,
    /// The media types that the body may have; empty if there is no body.
    pub media: Vec<Media>,
}

impl Response {
    /// Returns whether the status is below 400, so that a client gets the response as `Ok`.
    ///
    /// `default` is an error, since it covers all that the document does not list.
    #[must_use]
    pub fn is_success(&self) -> bool {
        match self.status {
            StatusKey::Code(code) => code < 400,
            StatusKey::Range(digit) => digit < 4,
            StatusKey::Default => false,
        }
    }
}
