//! Responses, and the statuses that they are for.

use super::body::MediaType;
use super::parameter::Parameter;
use crate::source::Span;

/// An answer of an operation.
#[derive(Debug, Clone)]
pub struct Response {
    /// For which statuses.
    pub status: StatusKey,
    /// A description in `CommonMark`.
    pub description: String,
    /// Headers, `Content-Type` left out as the standard says.
    pub headers: Vec<Parameter>,
    /// What the body may be; empty for no body.
    pub content: Vec<MediaType>,
    /// Name under `components/responses`, if referenced from there.
    pub component: Option<String>,
    /// Pointer to where it is declared.
    pub pointer: String,
    /// Where it stands.
    pub span: Span,
}

/// Which statuses an answer is for. Sorted: codes, ranges, default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatusKey {
    /// One status, 100 to 599.
    Code(u16),
    /// `1XX` to `5XX`; holds the first digit.
    Range(u8),
    /// Every status that nothing else lists.
    Default,
}

impl StatusKey {
    /// The statuses that a key of `responses` stands for.
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
