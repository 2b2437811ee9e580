//! Request bodies, and media types of bodies.

use indexmap::IndexMap;
use serde_json::Value;

use super::parameter::{Parameter, Style};
use super::schema::SchemaId;
use crate::source::Span;

/// A request body.
#[derive(Debug, Clone)]
pub struct RequestBody {
    /// Whether the body is required.
    pub required: bool,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// The media types that the body may have.
    pub content: Vec<MediaType>,
    /// The name under `components/requestBodies`, if it is referenced from there.
    pub component: Option<String>,
    /// The span of the object.
    pub span: Span,
}

/// A media type of a body.
#[derive(Debug, Clone)]
pub struct MediaType {
    /// The name as written, such as `application/json` or `image/*`.
    pub name: String,
    /// The schema of the whole body, if there is one.
    pub schema: Option<SchemaId>,
    /// The schema of each item of a sequential media type, such as `application/jsonl`.
    pub item_schema: Option<SchemaId>,
    /// The schema of the JSON in the data of each server-sent event: `contentSchema` of the property
    /// `data` of `item_schema`. Where that is one of several events, the schema of its `data` has
    /// [`event_content`](super::Keywords::event_content).
    pub event_data: Option<SchemaId>,
    /// How each property of a form or multipart body is encoded.
    pub encoding: IndexMap<String, PropertyEncoding>,
    /// How the first parts of a multipart body without names are encoded, by position (3.2).
    pub prefix_encoding: Vec<PropertyEncoding>,
    /// How all further parts of a multipart body without names are encoded (3.2).
    pub item_encoding: Option<PropertyEncoding>,
    /// Whether the document gives only `*/*` here, and JSON is assumed. A body is JSON
    /// only if its own media type says so.
    pub is_assumed: bool,
    /// The examples by name; `example` is called `default`.
    pub examples: IndexMap<String, Value>,
    /// The texts of examples as they are sent (`serializedValue`), by name (3.2).
    pub serialized: IndexMap<String, String>,
    /// The pointer of the media type object.
    pub pointer: String,
    /// The span of the object.
    pub span: Span,
}

/// The names of JSON Lines, in lower case: one format, of which none is registered.
pub const JSON_LINES: &[&str] = &[
    "application/jsonl",
    "application/x-jsonlines",
    "application/x-ndjson",
    "application/ndjson",
];

/// Returns whether a media type is a sequence of items that generated code reads and writes one by
/// one: JSON Lines, JSON text sequences (RFC 7464) and server-sent events.
#[must_use]
pub fn is_sequential(name: &str) -> bool {
    let essence = name.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let essence = essence.as_str();
    JSON_LINES.contains(&essence)
        || ["application/json-seq", "text/event-stream"].contains(&essence)
        || essence.ends_with("+json-seq")
}

impl MediaType {
    /// Returns the schemas of the body, of its items, and of the data of its events.
    pub fn schemas(&self) -> impl Iterator<Item = SchemaId> {
        [self.schema, self.item_schema, self.event_data]
            .into_iter()
            .flatten()
    }
}

/// How a property of a form, or a part of a multipart body, is encoded.
#[derive(Debug, Clone)]
pub struct PropertyEncoding {
    /// The media type of the property's value (`contentType`).
    pub content_type: Option<String>,
    /// How an array or object is written, in forms (`style`).
    pub style: Option<Style>,
    /// Whether each item of an array is a name-value pair of its own, in forms (`explode`).
    pub explode: Option<bool>,
    /// The headers of the part, in multipart bodies.
    pub headers: Vec<Parameter>,
    /// How the parts of a part that is multipart itself are encoded, by name (3.2).
    pub encoding: IndexMap<String, PropertyEncoding>,
    /// How the first parts of such a part are encoded, by position (3.2).
    pub prefix_encoding: Vec<PropertyEncoding>,
    /// How all further parts of such a part are encoded (3.2).
    pub item_encoding: Option<Box<PropertyEncoding>>,
}
