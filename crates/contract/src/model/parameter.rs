//! Parameters of operations, and headers of responses and of parts.

use indexmap::IndexMap;
use serde_json::Value;

use super::schema::SchemaId;
use crate::source::Span;

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
