//! Parameters of operations, and headers of responses and of parts.

use indexmap::IndexMap;
use serde_json::Value;

use super::schema::SchemaId;
use crate::media_type::is_json;
use crate::source::Span;

/// A parameter of an operation, or a header of a response or part.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The name in the request or response.
    pub name: String,
    /// Where the parameter is sent. Headers of responses have `Header`.
    pub location: Location,
    /// Whether the parameter is the whole query (`in: querystring`, 3.2). It is then an object in
    /// the style `form`, whose properties are the names in the query, or a text of a media type.
    pub is_whole_query: bool,
    /// Whether the parameter is required.
    pub required: bool,
    /// Whether the parameter is deprecated.
    pub deprecated: bool,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// How the value is encoded.
    pub encoding: ParameterEncoding,
    /// The schema.
    pub schema: SchemaId,
    /// The name under `components/parameters` or `components/headers`, if it is referenced from
    /// there.
    pub component: Option<String>,
    /// The extensions (`x-…`) as JSON.
    pub extensions: IndexMap<String, Value>,
    /// The pointer of the declaration.
    pub pointer: String,
    /// The span of the object.
    pub span: Span,
}

/// How a parameter's value is encoded as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterEncoding {
    /// The encoding of `style` and `explode`, with their defaults filled in.
    Style {
        /// The style.
        style: Style,
        /// Whether each item of an array, or property of an object, is a name-value pair of its
        /// own.
        explode: bool,
        /// Whether reserved characters are not percent-encoded, in a query.
        allow_reserved: bool,
    },
    /// A string in the syntax of this media type, such as `application/json` (`content`).
    Content(String),
}

impl ParameterEncoding {
    /// Returns whether the value is a JSON text.
    #[must_use]
    pub fn is_json(&self) -> bool {
        matches!(self, Self::Content(media) if is_json(media))
    }
}

/// Where a parameter is sent.
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
    Cookie,
}
