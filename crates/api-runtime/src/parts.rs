//! Multipart bodies whose parts have a position and no name (OpenAPI 3.2, "Encoding By Position"):
//! `multipart/mixed`, `multipart/related`, `multipart/byteranges` and the like.
//!
//! [`Parts`] is such a body as a whole, with a type for each position, [`PartStream`] and
//! [`PartBody`] are one whose parts are read and sent one by one. [`Encodings`] says which media
//! types and headers the parts have; reading and writing both check them.

mod content;
mod encoding;
mod positions;
mod splitter;
mod stream;
mod writer;

use std::fmt;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) use content::parse;
pub use content::{Content, Sequence, read_nested, write_nested};
pub use encoding::{Encoding, Encodings, PartHeader, fits, fits_json};
pub use positions::{Position, Positions, Reader};
#[cfg(feature = "server")]
pub(crate) use stream::NO_BOUNDARY;
pub(crate) use stream::boundary_of;
pub use stream::{PartBody, PartStream, StreamedPartError};
pub use writer::Writer;
pub(crate) use writer::{with_boundary, written};

/// The maximum number of parts of a body that is read as a whole, and of a part that is multipart
/// itself.
pub const MAX_PARTS: usize = 1000;

/// The maximum number of bytes that all headers of a part may have: 8 KiB.
pub const MAX_PART_HEAD_BYTES: usize = 8 << 10;

/// The maximum number of headers that a part may have.
pub const MAX_PART_HEADERS: usize = 100;

/// The maximum number of bytes before the first part of a body, and of those after its last part,
/// which are ignored: 64 KiB.
pub const MAX_IGNORED_BYTES: usize = 64 << 10;

/// The maximum number of bytes that a part of a streamed body may have, unless `max_part_bytes` of
/// the stream sets another limit: 1 MiB.
pub const MAX_PART_BYTES: usize = 1 << 20;

/// The rule of a media type with characters that a header cannot have.
const NO_HEADER: &str = "must have a media type of visible ASCII";

/// A part of a multipart body: its value, and its headers.
///
/// A value converts into a part without headers; its media type is then the first that the
/// contract lists for the position.
#[derive(Clone, PartialEq, Eq)]
pub struct Part<T> {
    /// The value.
    pub value: T,
    headers: HeaderMap,
}

impl<T> Part<T> {
    /// Creates a part without headers.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            value,
            headers: HeaderMap::new(),
        }
    }

    /// Sets the media type, where the contract lists several or a range such as `image/*`.
    #[must_use]
    pub fn with_content_type(self, name: HeaderValue) -> Self {
        self.with_header(CONTENT_TYPE, name)
    }

    /// Sets a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Returns the headers, with the media type.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the media type of the part, with its parameters. Returns `None` if it has none.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE)?.to_str().ok()
    }
}

impl<T> From<T> for Part<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Prints the value and the names of the headers, whose values may be secrets.
impl<T: fmt::Debug> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("Part")
            .field("value", &self.value)
            .field("headers", &names)
            .finish()
    }
}

/// The content of a part that is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// The content of a part that is one value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<T> From<T> for Part<Json<T>> {
    fn from(value: T) -> Self {
        Self::new(Json(value))
    }
}

impl<T> From<T> for Part<Text<T>> {
    fn from(value: T) -> Self {
        Self::new(Text(value))
    }
}

/// The content of parts after the last position of a contract that allows none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPart {}

/// A whole multipart body: the parts whose positions the contract describes by themselves, as a
/// tuple, and all further ones.
///
/// A position that the contract does not require is an `Option`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts<P, I> {
    /// The first parts, by position.
    pub prefix: P,
    /// The parts after them.
    pub items: Vec<Part<I>>,
}

impl<P, I> Parts<P, I> {
    /// Creates a body of the first parts alone.
    #[must_use]
    pub fn new(prefix: P) -> Self {
        Self {
            prefix,
            items: Vec::new(),
        }
    }

    /// Sets the parts after the first ones.
    #[must_use]
    pub fn with_items(mut self, items: impl IntoIterator<Item = impl Into<Part<I>>>) -> Self {
        self.items = items.into_iter().map(Into::into).collect();
        self
    }
}

/// Why a multipart body does not fit the contract, in words that quote nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct PartError {
    /// The pointer to what does not fit, of which the first token is the index of a part.
    pub(crate) pointer: String,
    /// The pointer without keys of the body, which may be secrets.
    pub(crate) printed: String,
    pub(crate) message: String,
}

impl PartError {
    /// Creates an error about the whole body, or about the whole part that is read.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self::at(String::new(), message)
    }

    /// Creates an error about what a pointer leads to.
    #[must_use]
    pub fn at(pointer: String, message: impl Into<String>) -> Self {
        Self {
            printed: pointer.clone(),
            pointer,
            message: message.into(),
        }
    }

    /// Returns the error as one of the part with this index.
    pub(crate) fn of_part(mut self, at: usize) -> Self {
        let place = format!("/{at}");
        self.pointer.insert_str(0, &place);
        self.printed.insert_str(0, &place);
        self
    }
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.printed.as_str() {
            "" => "the body",
            pointer => pointer,
        };
        write!(f, "{place} {}", self.message)
    }
}

impl fmt::Debug for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl std::error::Error for PartError {}
