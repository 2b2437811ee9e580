//! Response bodies that are read piece by piece.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::{TryStreamExt as _, stream};

use super::Error;

/// A response body that is read while it arrives: a [`Stream`] of pieces, or one piece with
/// [`bytes`](Self::bytes). It ends after an error.
pub struct ByteStream {
    pieces: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send + Sync>>,
    operation: Option<&'static str>,
}

impl ByteStream {
    /// Returns a body that consists of `pieces`.
    pub fn new(pieces: impl Stream<Item = reqwest::Result<Bytes>> + Send + Sync + 'static) -> Self {
        Self {
            pieces: Box::pin(pieces),
            operation: None,
        }
    }

    /// Sets the operation that the body belongs to, which errors name.
    pub(super) fn of(mut self, operation: Option<&'static str>) -> Self {
        self.operation = operation;
        self
    }

    /// Returns the operation that the body belongs to.
    pub(super) fn operation(&self) -> Option<&'static str> {
        self.operation
    }

    /// Reads the rest of the body into memory. Read the stream instead if the body may be large.
    pub async fn bytes(self) -> Result<Bytes, Error> {
        let whole: BytesMut = self
            .try_fold(BytesMut::new(), |mut whole, piece| async move {
                whole.extend_from_slice(&piece);
                Ok(whole)
            })
            .await?;
        Ok(whole.freeze())
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let operation = self.operation;
        let piece = ready!(self.pieces.as_mut().poll_next(cx));
        Poll::Ready(piece.map(|piece| {
            piece.map_err(|error| {
                // Some errors would come again at each poll, as that of a time-out does.
                self.pieces = Box::pin(stream::empty());
                Error::from(error).of(operation)
            })
        }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.pieces.size_hint()
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStream")
    }
}
