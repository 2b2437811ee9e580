//! What a part may hold, and how it is read and written.

use bytes::Bytes;
use serde_json::Value;

use super::splitter::{Frame, Splitter};
use super::stream::NO_BOUNDARY;
use super::{
    Encoding, Encodings, Json, NoPart, Part, PartError, Parts, Positions, Reader, Text, Writer,
};
use crate::place::{located, rule};
use crate::wire::Encoded;
use crate::{Wire, lenient, strict};

/// The content of a part.
pub trait Content: Sized + Send + 'static {
    /// Reads the content. `boundary` is that of the part's media type, if it is multipart itself.
    ///
    /// # Errors
    ///
    /// If the content does not fit the contract.
    fn read(
        bytes: Bytes,
        encoding: &Encoding,
        boundary: Option<&str>,
        is_lenient: bool,
    ) -> Result<Self, PartError>;

    /// Writes the content. Returns its boundary too, if it is multipart itself.
    ///
    /// # Errors
    ///
    /// If the content cannot be written.
    fn write(self, encoding: &Encoding) -> Result<(Bytes, Option<String>), PartError>;
}

/// A whole body of parts.
pub trait Sequence: Sized + Send + 'static {
    /// Reads the body from its parts.
    ///
    /// # Errors
    ///
    /// If a part does not fit the contract.
    fn read(parts: Reader) -> Result<Self, PartError>;

    /// Writes the body part by part.
    ///
    /// # Errors
    ///
    /// If a part does not fit the contract.
    fn write(self, writer: &mut Writer) -> Result<(), PartError>;
}

impl<T: Wire + Send + 'static> Content for Json<T> {
    fn read(
        bytes: Bytes,
        _: &Encoding,
        _: Option<&str>,
        is_lenient: bool,
    ) -> Result<Self, PartError> {
        let read = || {
            if is_lenient {
                crate::json::from_slice_lenient::<T>(&bytes)
            } else {
                crate::json::from_slice_strict::<T>(&bytes)
            }
        };
        decoded(read).map(Json)
    }

    fn write(self, _: &Encoding) -> Result<(Bytes, Option<String>), PartError> {
        let bytes = serde_json::to_vec(&Encoded(&self.0));
        let bytes = bytes.map_err(|_| PartError::new("cannot be written as JSON"))?;
        Ok((bytes.into(), None))
    }
}

impl<T: Wire + Send + 'static> Content for Text<T> {
    fn read(
        bytes: Bytes,
        _: &Encoding,
        _: Option<&str>,
        is_lenient: bool,
    ) -> Result<Self, PartError> {
        let text = str::from_utf8(&bytes).map_err(|_| PartError::new("is not UTF-8"))?;
        decoded(|| value_of_text(text, is_lenient)).map(Text)
    }

    fn write(self, _: &Encoding) -> Result<(Bytes, Option<String>), PartError> {
        let value = serde_json::to_value(Encoded(&self.0));
        let text = match value {
            Ok(Value::String(text)) => text,
            Ok(Value::Null) => String::new(),
            Ok(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
            Ok(Value::Array(_) | Value::Object(_)) | Err(_) => {
                return Err(PartError::new("cannot be written as text"));
            }
        };
        Ok((text.into(), None))
    }
}

impl Content for Bytes {
    fn read(bytes: Bytes, _: &Encoding, _: Option<&str>, _: bool) -> Result<Self, PartError> {
        Ok(bytes)
    }

    fn write(self, _: &Encoding) -> Result<(Bytes, Option<String>), PartError> {
        Ok((self, None))
    }
}

impl Content for NoPart {
    fn read(_: Bytes, _: &Encoding, _: Option<&str>, _: bool) -> Result<Self, PartError> {
        Err(PartError::new("must not be there: it is one part too many"))
    }

    fn write(self, _: &Encoding) -> Result<(Bytes, Option<String>), PartError> {
        match self {}
    }
}

impl<P, I> Content for Parts<P, I>
where
    Self: Sequence,
{
    fn read(
        bytes: Bytes,
        encoding: &Encoding,
        boundary: Option<&str>,
        is_lenient: bool,
    ) -> Result<Self, PartError> {
        read_nested(&bytes, encoding, boundary, is_lenient)
    }

    fn write(self, encoding: &Encoding) -> Result<(Bytes, Option<String>), PartError> {
        write_nested(self, encoding)
    }
}

/// Reads a part that is multipart itself.
///
/// # Errors
///
/// If it does not fit the contract.
pub fn read_nested<T: Sequence>(
    bytes: &[u8],
    encoding: &Encoding,
    boundary: Option<&str>,
    is_lenient: bool,
) -> Result<T, PartError> {
    let encodings = encoding.nested().ok_or_else(not_described)?;
    T::read(parse(bytes, boundary, encodings, is_lenient)?)
}

/// Writes a part that is multipart itself. Returns its bytes and its boundary.
///
/// # Errors
///
/// If it does not fit the contract.
pub fn write_nested<T: Sequence>(
    body: T,
    encoding: &Encoding,
) -> Result<(Bytes, Option<String>), PartError> {
    let encodings = encoding.nested().ok_or_else(not_described)?;
    let (bytes, boundary) = super::written(body, encodings)?;
    Ok((bytes, Some(boundary)))
}

fn not_described() -> PartError {
    PartError::new("has parts that the contract does not describe")
}

impl<P: Positions, I: Content> Sequence for Parts<P, I> {
    fn read(mut parts: Reader) -> Result<Self, PartError> {
        let prefix = P::read(&mut parts)?;
        let mut items = Vec::new();
        while let Some(part) = parts.take()? {
            items.push(part);
        }
        Ok(Self { prefix, items })
    }

    fn write(self, writer: &mut Writer) -> Result<(), PartError> {
        self.prefix.write(writer)?;
        self.items
            .into_iter()
            .try_for_each(|part: Part<I>| writer.add(part))
    }
}

/// Splits a whole body into its parts, and checks their number.
pub(crate) fn parse(
    bytes: &[u8],
    boundary: Option<&str>,
    encodings: &'static Encodings,
    is_lenient: bool,
) -> Result<Reader, PartError> {
    let boundary = boundary.ok_or_else(|| PartError::new(NO_BOUNDARY))?;
    let mut splitter = Splitter::new(boundary, usize::MAX);
    let mut frames = std::collections::VecDeque::new();
    // In pieces, so that the splitter copies no more than the largest part; and no more parts are
    // read than are allowed, and one.
    'pieces: for piece in bytes.chunks(PIECE) {
        splitter.push(piece)?;
        while let Some(frame) = splitter.take()? {
            frames.push_back(frame);
            if frames.len() > encodings.most() {
                break 'pieces;
            }
        }
    }
    if frames.len() <= encodings.most() {
        splitter.finish()?;
    }
    encodings.check_count(frames.len())?;
    let whole = |frame: Frame| (frame.headers, frame.body.unwrap_or_default());
    let frames = frames.into_iter().map(whole).collect();
    Ok(Reader::new(frames, encodings, is_lenient))
}

/// The number of bytes of a whole body that are split at once.
const PIECE: usize = 64 << 10;

/// Decodes a value that is written as text: a string, or a number or boolean as in JSON.
pub(super) fn value_of_text<T: Wire>(text: &str, is_lenient: bool) -> serde_json::Result<T> {
    let decode = || {
        T::decode(Value::String(text.to_owned())).or_else(|error: serde_json::Error| {
            // If both fail, the first error is the more precise one.
            serde_json::from_str::<Value>(text)
                .and_then(T::decode)
                .map_err(|_| error)
        })
    };
    if is_lenient {
        lenient(decode)
    } else {
        strict(decode)
    }
}

/// The rule of a part whose error says nothing that may be printed.
const UNKNOWN: &str = "does not fit its schema";

/// Returns what `read` returns, or its error with the place and in words.
fn decoded<T>(read: impl Fn() -> serde_json::Result<T>) -> Result<T, PartError> {
    // Only a value that does not fit is read twice.
    read().map_err(|_| match located(&read) {
        Some((place, error)) => {
            let message = rule(&error).unwrap_or_else(|| UNKNOWN.to_owned());
            #[cfg(feature = "client")]
            let printed = place.printed;
            #[cfg(not(feature = "client"))]
            let printed = place.pointer.clone();
            PartError {
                pointer: place.pointer,
                printed,
                message,
            }
        }
        None => PartError::new(UNKNOWN),
    })
}
