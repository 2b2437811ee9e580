//! Request bodies, and the media types of bodies.

use indexmap::IndexMap;
use serde_json::Value;

use super::parameter::{Parameter, Style};
use super::schema::SchemaId;
use crate::source::Span;

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
