//! Bodies that are sequences of items: JSON Lines, JSON text sequences (RFC 7464) and server-sent
//! events.
//!
//! An item is read as soon as its last byte has arrived, and the next piece of the body is asked
//! for only when the reader asks for the next item, so a slow reader slows the writer down. A
//! dropped stream ends the body.

mod event;
mod splitter;

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;

use crate::Wire;
use crate::wire::Encoded;
pub use event::TypedEvent;
pub(crate) use splitter::{Frame, Splitter};

/// The maximum number of bytes that an item of a received body may have, unless `max_item_bytes` of
/// the stream sets another limit: 1 MiB.
pub const MAX_ITEM_BYTES: usize = 1 << 20;

/// How a media type separates its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Each item is a line.
    Lines,
    /// Each item is between a record separator and a line feed.
    Records,
    /// Each item is an event, which ends with an empty line.
    Events,
}

impl Framing {
    /// Returns the framing of a media type, or `None` if it is no sequence.
    pub(crate) fn of(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        match essence.as_str() {
            "text/event-stream" => Some(Self::Events),
            "application/json-seq" => Some(Self::Records),
            "application/jsonl"
            | "application/x-jsonlines"
            | "application/ndjson"
            | "application/x-ndjson" => Some(Self::Lines),
            other => other.ends_with("+json-seq").then_some(Self::Records),
        }
    }

    /// Writes an item with what separates it from the next.
    fn write<T: Wire>(self, item: &T) -> serde_json::Result<Bytes> {
        let mut bytes = Vec::new();
        match self {
            Self::Lines => serde_json::to_writer(&mut bytes, &Encoded(item))?,
            Self::Records => {
                bytes.push(splitter::SEPARATOR);
                serde_json::to_writer(&mut bytes, &Encoded(item))?;
            }
            Self::Events => {
                event::write(&serde_json::to_value(Encoded(item))?, &mut bytes)?;
            }
        }
        bytes.push(b'\n');
        Ok(bytes.into())
    }
}

/// Why an item of a received body is missing. `E` is the error of the body itself.
///
/// After [`Interrupted`](Self::Interrupted) the stream ends; after the other errors it goes on with
/// the next item. `Display` and `Debug` print no bytes of an item.
#[non_exhaustive]
pub enum ItemError<E> {
    /// The body ended early.
    Interrupted(E),
    /// The item has more bytes than this limit, and was skipped.
    TooLarge(usize),
    /// The item is cut off, is not in the syntax of the media type, or does not fit the contract.
    Invalid(InvalidItem),
}

/// An item that does not fit the contract.
pub struct InvalidItem {
    bytes: Bytes,
    error: serde_json::Error,
}

impl InvalidItem {
    /// Returns the item as it was received. Do not log it: it may have secrets.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the error of decoding the item. Do not log it: its message may quote the item.
    #[must_use]
    pub fn error(&self) -> &serde_json::Error {
        &self.error
    }
}

impl fmt::Debug for InvalidItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvalidItem").finish_non_exhaustive()
    }
}

impl<E: fmt::Debug> fmt::Debug for ItemError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(error) => f.debug_tuple("Interrupted").field(error).finish(),
            Self::TooLarge(limit) => f.debug_tuple("TooLarge").field(limit).finish(),
            Self::Invalid(item) => f.debug_tuple("Invalid").field(item).finish(),
        }
    }
}

impl<E> fmt::Display for ItemError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(_) => f.write_str("the body ended early"),
            Self::TooLarge(limit) => write!(f, "an item has more than {limit} bytes"),
            Self::Invalid(item) => write!(
                f,
                "an item of {} bytes does not fit the contract",
                item.bytes.len()
            ),
        }
    }
}

impl<E: Error + 'static> Error for ItemError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Interrupted(error) => Some(error),
            Self::TooLarge(_) | Self::Invalid(_) => None,
        }
    }
}

/// The items of a received body: a [`Stream`] of values of `T`, which arrive as pieces of `B`.
pub struct ItemStream<T, B> {
    body: Option<B>,
    splitter: Splitter,
    ready: VecDeque<Frame>,
    is_lenient: bool,
    items: PhantomData<fn() -> T>,
}

impl<T, B> ItemStream<T, B> {
    /// Creates the stream of the items of a body.
    pub(crate) fn new(framing: Framing, body: B, is_lenient: bool) -> Self {
        Self {
            body: Some(body),
            splitter: Splitter::new(framing, MAX_ITEM_BYTES),
            ready: VecDeque::new(),
            is_lenient,
            items: PhantomData,
        }
    }

    /// Sets the maximum number of bytes that an item may have, in place of [`MAX_ITEM_BYTES`]. A
    /// larger item is skipped, and an error in its place.
    #[must_use]
    pub fn max_item_bytes(mut self, bytes: usize) -> Self {
        self.splitter.limit = bytes;
        self
    }
}

impl<T: Wire, B> ItemStream<T, B> {
    /// Decodes a frame. Returns `None` for an event without data, which the standard drops.
    fn item<E>(&self, frame: Frame) -> Option<Result<T, ItemError<E>>> {
        let frame = match frame {
            Frame::Whole(bytes) => bytes,
            Frame::TooLarge => return Some(Err(ItemError::TooLarge(self.splitter.limit))),
            // The body has ended inside of it: a number may lack its last digits, and be valid.
            Frame::Cut(bytes) => {
                let error = serde::de::Error::custom("must be a whole item");
                return Some(Err(ItemError::Invalid(InvalidItem { bytes, error })));
            }
        };
        let read = || match self.splitter.framing {
            Framing::Lines | Framing::Records if self.is_lenient => {
                crate::json::from_slice_lenient(&frame).map(Some)
            }
            Framing::Lines | Framing::Records => crate::json::from_slice_strict(&frame).map(Some),
            Framing::Events => {
                let Some(event) = event::read(&frame) else {
                    return Ok(None);
                };
                let decode = || T::decode(event);
                let item = if self.is_lenient {
                    crate::lenient(decode)
                } else {
                    crate::strict(decode)
                };
                item.map(Some)
            }
        };
        match read() {
            Ok(item) => item.map(Ok),
            Err(error) => Some(Err(ItemError::Invalid(InvalidItem {
                bytes: frame.clone(),
                error,
            }))),
        }
    }
}

impl<T, B, E> Stream for ItemStream<T, B>
where
    T: Wire,
    B: Stream<Item = Result<Bytes, E>> + Unpin,
{
    type Item = Result<T, ItemError<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            while let Some(frame) = this.ready.pop_front() {
                if let Some(item) = this.item(frame) {
                    return Poll::Ready(Some(item));
                }
            }
            let Some(body) = &mut this.body else {
                return Poll::Ready(None);
            };
            match ready!(Pin::new(body).poll_next(cx)) {
                Some(Ok(piece)) => this.splitter.push(&piece, &mut this.ready),
                Some(Err(error)) => {
                    this.body = None;
                    return Poll::Ready(Some(Err(ItemError::Interrupted(error))));
                }
                None => {
                    this.body = None;
                    this.splitter.finish(&mut this.ready);
                }
            }
        }
    }
}

impl<T, B> fmt::Debug for ItemStream<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemStream")
            .field("framing", &self.splitter.framing)
            .finish_non_exhaustive()
    }
}

type BoxError = Box<dyn Error + Send + Sync>;

/// The items of a body to send.
pub struct ItemBody<T>(Pin<Box<dyn Stream<Item = Result<T, BoxError>> + Send>>);

impl<T: Wire + Send + 'static> ItemBody<T> {
    /// Creates a body from items; an error ends the body early.
    #[must_use]
    pub fn new<S, E>(items: S) -> Self
    where
        S: Stream<Item = Result<T, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        Self(Box::pin(items.map(|item| item.map_err(Into::into))))
    }

    /// Returns the body as bytes. An item that cannot be written ends it early.
    pub(crate) fn into_bytes(
        self,
        media_type: &str,
    ) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static {
        let framing = Framing::of(media_type).unwrap_or(Framing::Lines);
        self.0
            .map(move |item| framing.write(&item?).map_err(BoxError::from))
    }
}

impl<T: Wire + Send + 'static> From<Vec<T>> for ItemBody<T> {
    fn from(items: Vec<T>) -> Self {
        Self::new(futures_util::stream::iter(
            items.into_iter().map(Ok::<T, BoxError>),
        ))
    }
}

impl<T> fmt::Debug for ItemBody<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ItemBody")
    }
}
