//! Operations: their methods, and the templates of their paths.

use super::body::RequestBody;
use super::parameter::Parameter;
use super::response::Response;
use super::security::Security;
use super::server::Server;
use crate::source::Span;

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

/// A piece of a path template. `/a/{b}.json` is `Literal("/a/")`, `Parameter("b")`, `Literal(".json")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPart {
    /// Text.
    Literal(String),
    /// A parameter's name.
    Parameter(String),
}

impl PathPart {
    /// A path template in parts. A brace without its partner is text.
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
