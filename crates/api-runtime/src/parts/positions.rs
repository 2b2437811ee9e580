//! The first parts of a body, each of which has a type of its own.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::stream::boundary_of;
use super::{Content, Encodings, Part, PartError, Writer};

/// The parts of a received body, in their order.
pub struct Reader {
    frames: VecDeque<(HeaderMap, Bytes)>,
    encodings: &'static Encodings,
    is_lenient: bool,
    /// The index of the next part.
    at: usize,
}

impl Reader {
    pub(super) fn new(
        frames: VecDeque<(HeaderMap, Bytes)>,
        encodings: &'static Encodings,
        is_lenient: bool,
    ) -> Self {
        Self {
            frames,
            encodings,
            is_lenient,
            at: 0,
        }
    }

    /// Reads the next part. Returns `None` after the last one.
    ///
    /// # Errors
    ///
    /// If the part does not fit the contract.
    pub fn take<T: Content>(&mut self) -> Result<Option<Part<T>>, PartError> {
        let Some((headers, bytes)) = self.frames.pop_front() else {
            return Ok(None);
        };
        let at = self.at;
        self.at += 1;
        let part = part(self.encodings, at, headers, bytes, self.is_lenient);
        part.map(Some).map_err(|error| error.of_part(at))
    }
}

/// Prints the index of the next part, and no part, which may have secrets.
impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// Reads the part with this index.
pub(super) fn part<T: Content>(
    encodings: &Encodings,
    at: usize,
    headers: HeaderMap,
    bytes: Bytes,
    is_lenient: bool,
) -> Result<Part<T>, PartError> {
    encodings.check(at, &headers, is_lenient)?;
    let boundary = headers.get(CONTENT_TYPE).and_then(boundary_of);
    let value = T::read(bytes, encodings.of(at), boundary.as_deref(), is_lenient)?;
    Ok(Part { value, headers })
}

/// A position of a body: a [`Part`], or an `Option` of one where the body may end before it.
pub trait Position: Sized + Send + 'static {
    /// Reads the part of the position.
    ///
    /// # Errors
    ///
    /// If it is missing, or does not fit the contract.
    fn read(parts: &mut Reader) -> Result<Self, PartError>;

    /// Writes the part of the position.
    ///
    /// # Errors
    ///
    /// If it does not fit the contract, or a part before it is left out.
    fn write(self, writer: &mut Writer) -> Result<(), PartError>;
}

impl<T: Content> Position for Part<T> {
    fn read(parts: &mut Reader) -> Result<Self, PartError> {
        let at = parts.at;
        parts
            .take()?
            .ok_or_else(|| PartError::new("is required").of_part(at))
    }

    fn write(self, writer: &mut Writer) -> Result<(), PartError> {
        writer.add(self)
    }
}

impl<T: Content> Position for Option<Part<T>> {
    fn read(parts: &mut Reader) -> Result<Self, PartError> {
        parts.take()
    }

    fn write(self, writer: &mut Writer) -> Result<(), PartError> {
        if let Some(part) = self {
            return writer.add(part);
        }
        writer.leave_out();
        Ok(())
    }
}

/// The first positions of a body: a tuple of up to twelve.
pub trait Positions: Sized + Send + 'static {
    /// Reads the parts of the positions.
    ///
    /// # Errors
    ///
    /// If one does not fit the contract.
    fn read(parts: &mut Reader) -> Result<Self, PartError>;

    /// Writes the parts of the positions.
    ///
    /// # Errors
    ///
    /// If one does not fit the contract.
    fn write(self, writer: &mut Writer) -> Result<(), PartError>;
}

impl Positions for () {
    fn read(_: &mut Reader) -> Result<Self, PartError> {
        Ok(())
    }

    fn write(self, _: &mut Writer) -> Result<(), PartError> {
        Ok(())
    }
}

/// Implements [`Positions`] for a tuple.
macro_rules! positions {
    ($($position:ident)*) => {
        impl<$($position: Position),*> Positions for ($($position,)*) {
            fn read(parts: &mut Reader) -> Result<Self, PartError> {
                // The fields of a tuple are evaluated in their order.
                Ok(($($position::read(parts)?,)*))
            }

            #[expect(non_snake_case, reason = "each variable is named like its type")]
            fn write(self, writer: &mut Writer) -> Result<(), PartError> {
                let ($($position,)*) = self;
                $($position.write(writer)?;)*
                Ok(())
            }
        }
    };
}

positions!(A);
positions!(A B);
positions!(A B C);
positions!(A B C D);
positions!(A B C D E);
positions!(A B C D E F);
positions!(A B C D E F G);
positions!(A B C D E F G H);
positions!(A B C D E F G H I);
positions!(A B C D E F G H I J);
positions!(A B C D E F G H I J K);
positions!(A B C D E F G H I J K L);
