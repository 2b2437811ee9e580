//! Operations: their methods and path templates.

use std::sync::Arc;

use super::body::RequestBody;
use super::parameter::Parameter;
use super::response::Response;
use super::security::Security;
use super::server::Server;
use crate::moment::Moment;
use crate::source::Span;

/// An operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The operation id. If the document has none, it is derived from method and path alone, so
    /// that it does not depend on other operations.
    pub id: String,
    /// Whether the id is derived.
    pub id_is_derived: bool,
    /// The method.
    pub method: Method,
    /// The key of the path as written, such as `/project/{project_id}`, with its label if it has
    /// one.
    pub path: String,
    /// The parts of the template, without the label.
    pub segments: Vec<PathPart>,
    /// The names and values of the query in the label, which every request has. Empty for nearly
    /// every operation.
    pub query: Vec<(String, String)>,
    /// The tags of the operation. Operations are grouped by the first, [`tag`](Self::tag).
    pub tags: Vec<String>,
    /// A summary in one line.
    pub summary: Option<String>,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// Whether the operation is deprecated.
    pub deprecated: bool,
    /// Since when the operation is deprecated: `x-deprecation`. `None` if `deprecated` is not set.
    pub deprecation: Option<Moment>,
    /// When the operation ends: `x-sunset`. `None` if `deprecated` is not set.
    pub sunset: Option<Moment>,
    /// The parameters: those of the path item, then the operation's own. An own parameter takes the
    /// place of one of the path item with the same name and location.
    pub parameters: Vec<Parameter>,
    /// The request body.
    pub request_body: Option<RequestBody>,
    /// The responses, in the document's order.
    pub responses: Vec<Response>,
    /// The security that the operation declares. If it declares none, an operation of a path has
    /// that of the document, and a webhook or callback needs no credential.
    pub security: Security,
    /// The servers of the operation, or else of its path item. Empty if both declare none.
    pub servers: Vec<Server>,
    /// The operations that the API calls back. `path` is the callback's expression.
    pub callbacks: Vec<Operation>,
    /// The pointer, such as `/paths/~1pets/get`.
    pub pointer: String,
    /// The span of the method's key.
    pub span: Span,
}

impl Operation {
    /// Returns the first tag, by which operations are grouped.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tags.first().map(String::as_str)
    }
}

/// The methods that a path item can have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "most variants are HTTP's methods")]
pub enum Method {
    Get,
    Put,
    Post,
    Delete,
    Options,
    Head,
    Patch,
    Trace,
    /// A safe method with a request body (3.2).
    Query,
    /// Any other method, as requests spell it: a key of `additionalOperations` (3.2).
    Other(Arc<str>),
}

impl Method {
    /// Every method that is a field of a path item.
    pub(crate) const FIXED: [Self; 9] = [
        Self::Get,
        Self::Put,
        Self::Post,
        Self::Delete,
        Self::Options,
        Self::Head,
        Self::Patch,
        Self::Trace,
        Self::Query,
    ];

    /// Returns the method as HTTP spells it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Head => "HEAD",
            Self::Patch => "PATCH",
            Self::Trace => "TRACE",
            Self::Query => "QUERY",
            Self::Other(name) => name,
        }
    }

    /// Returns the method in lower case, as keys of a path item and names of operations have it.
    #[must_use]
    pub fn key(&self) -> String {
        self.as_str().to_ascii_lowercase()
    }
}

/// A part of a path template: `/a/{b}.json` is `Literal("/a/")`, `Parameter("b")`,
/// `Literal(".json")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPart {
    /// Literal text.
    Literal(String),
    /// The name of a parameter.
    Parameter(String),
}

/// Splits the key of a path into its template and its label, which begins with `?` or `#` and tells
/// apart the keys of one URL. Most keys have no label.
#[must_use]
pub fn split_label(path: &str) -> (&str, &str) {
    let mut open = false;
    let end = path.find(|character| {
        match character {
            '{' => open = true,
            '}' => open = false,
            _ => {}
        }
        !open && matches!(character, '?' | '#')
    });
    path.split_at(end.unwrap_or(path.len()))
}

/// Returns the names and values of the query in a label, decoded. A value with a brace is a
/// parameter in disguise, and no request has it as it is written.
pub(crate) fn label_query(label: &str) -> Vec<(String, String)> {
    let Some(query) = label.strip_prefix('?') else {
        return Vec::new();
    };
    let query = query.split('#').next().unwrap_or_default();
    query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(['{', '}']))
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

/// Returns the names of the query in a label, decoded, that have a value with a brace, each with that value.
pub(crate) fn label_parameters(label: &str) -> Vec<(String, &str)> {
    let query = label.strip_prefix('?').unwrap_or_default();
    let query = query.split('#').next().unwrap_or_default();
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(_, value)| value.contains(['{', '}']))
        .map(|(name, value)| (decoded(name), value))
        .collect()
}

/// Returns a name or value of a query without its encoding, in which a plus is a blank.
fn decoded(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_encoding::percent_decode_str(&text)
        .decode_utf8_lossy()
        .into_owned()
}

impl PathPart {
    /// Splits a path template into parts. An unmatched brace is literal text.
    pub(crate) fn split(template: &str) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            let Some(length) = rest[open..].find('}') else {
                break;
            };
            literal.push_str(&rest[..open]);
            if !literal.is_empty() {
                parts.push(Self::Literal(std::mem::take(&mut literal)));
            }
            parts.push(Self::Parameter(rest[open + 1..open + length].to_owned()));
            rest = &rest[open + length + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Self::Literal(literal));
        }
        parts
    }
}
