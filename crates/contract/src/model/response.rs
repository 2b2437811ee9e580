//! Responses, and the statuses that they are for.

use super::body::MediaType;
use super::parameter::Parameter;
use crate::source::Span;

/// A response of an operation.
#[derive(Debug, Clone)]
pub struct Response {
    /// The statuses that the response is for.
    pub status: StatusKey,
    /// A short summary (3.2).
    pub summary: Option<String>,
    /// A description in `CommonMark`.
    pub description: String,
    /// The headers, without `Content-Type`, which the media type determines.
    pub headers: Vec<Parameter>,
    /// The media types that the body may have; empty if there is no body.
    pub content: Vec<MediaType>,
    /// The name under `components/responses`, if it is referenced from there.
    pub component: Option<String>,
    /// `x-rejection: true`: the server's framework makes the response, and no handler does.
    pub is_rejection: bool,
    /// The pointer of the declaration.
    pub pointer: String,
    /// The span of the object.
    pub span: Span,
}

/// The statuses that a response is for. The order is codes, ranges, default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatusKey {
    /// A status from 100 to 599.
    Code(u16),
    /// A range from `1XX` to `5XX`; holds the first digit.
    Range(u8),
    /// Every status without a response of its own.
    Default,
}

impl StatusKey {
    /// Parses a key of `responses`, or returns `None` if it is not a status, a range or `default`.
    pub(crate) fn parse(key: &str) -> Option<Self> {
        if key == "default" {
            return Some(Self::Default);
        }
        let bytes = key.as_bytes();
        if bytes.len() != 3 || !(b'1'..=b'5').contains(&bytes[0]) {
            return None;
        }
        if &bytes[1..] == b"XX" {
            return Some(Self::Range(bytes[0] - b'0'));
        }
        key.parse().ok().map(Self::Code)
    }
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
