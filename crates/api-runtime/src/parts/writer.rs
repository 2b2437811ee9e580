//! Writes the parts of a body.

use std::fmt::{self, Write as _};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

use super::{Content, Encodings, Part, PartError, Sequence};
use crate::media_type::without_parameter;

/// The parts of a body that is written as a whole.
pub struct Writer {
    encodings: &'static Encodings,
    parts: Vec<(HeaderMap, Bytes)>,
    /// Whether a position was left out, after which no part can have its position.
    is_over: bool,
}

impl Writer {
    /// Adds a part.
    ///
    /// # Errors
    ///
    /// If the part does not fit the contract, or one before it was left out.
    pub fn add<T: Content>(&mut self, part: Part<T>) -> Result<(), PartError> {
        let at = self.parts.len();
        if self.is_over {
            let error = PartError::new("is missing, and a part after it is there");
            return Err(error.of_part(at));
        }
        let written = written_part(self.encodings, at, part);
        self.parts.push(written.map_err(|error| error.of_part(at))?);
        Ok(())
    }

    /// Leaves out the next position, and so all after it.
    pub(super) fn leave_out(&mut self) {
        self.is_over = true;
    }
}

/// Prints the number of parts, which may have secrets.
impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("parts", &self.parts.len())
            .finish_non_exhaustive()
    }
}

/// Returns the headers and the bytes of the part with this index.
pub(super) fn written_part<T: Content>(
    encodings: &Encodings,
    at: usize,
    part: Part<T>,
) -> Result<(HeaderMap, Bytes), PartError> {
    let mut headers = encodings.complete(at, &part.headers)?;
    let (bytes, boundary) = part.value.write(encodings.of(at))?;
    if let Some(boundary) = boundary
        && let Some(name) = headers.get(CONTENT_TYPE)
    {
        let name = with_boundary(name.to_str().unwrap_or_default(), &boundary)?;
        headers.insert(CONTENT_TYPE, name);
    }
    Ok((headers, bytes))
}

/// Returns a media type with its boundary.
pub(crate) fn with_boundary(name: &str, boundary: &str) -> Result<HeaderValue, PartError> {
    // A part that was received, and is sent again, has that of before.
    let name = without_parameter(name, "boundary");
    HeaderValue::from_str(&format!("{name}; boundary={boundary}"))
        .map_err(|_| PartError::new(super::NO_HEADER))
}

/// Writes a whole body. Returns its bytes and its boundary.
pub(crate) fn written<T: Sequence>(
    body: T,
    encodings: &'static Encodings,
) -> Result<(Bytes, String), PartError> {
    let mut writer = Writer {
        encodings,
        parts: Vec::new(),
        is_over: false,
    };
    body.write(&mut writer)?;
    encodings.check_count(writer.parts.len())?;
    let boundary = boundary();
    let mut bytes = Vec::new();
    for (headers, content) in &writer.parts {
        head(&boundary, headers, &mut bytes);
        bytes.extend_from_slice(content);
        bytes.extend_from_slice(b"\r\n");
    }
    end(&boundary, &mut bytes);
    Ok((bytes.into(), boundary))
}

/// Writes the delimiter before a part, and the part's headers.
pub(super) fn head(boundary: &str, headers: &HeaderMap, bytes: &mut Vec<u8>) {
    bytes.extend([b"--", boundary.as_bytes(), b"\r\n"].concat());
    for (name, value) in headers {
        bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    bytes.extend_from_slice(b"\r\n");
}

/// Writes the last delimiter.
pub(super) fn end(boundary: &str, bytes: &mut Vec<u8>) {
    bytes.extend([b"--", boundary.as_bytes(), b"--\r\n"].concat());
}

/// Returns a new boundary: 128 bits that no content can foresee.
pub(super) fn boundary() -> String {
    let mut text = String::with_capacity(32);
    for _ in 0..2 {
        let number = RandomState::new().build_hasher().finish();
        let _ = write!(text, "{number:016x}");
    }
    text
}
