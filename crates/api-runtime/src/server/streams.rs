//! Bodies that are not kept in memory: bytes, server-sent events, connections that change their
//! protocol.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::StreamExt;
use http::{Extensions, HeaderMap, HeaderValue};
use http_body::Body as _;

use crate::{items, parts};

/// A body of bytes that is received or sent piece by piece.
pub struct ByteStream {
    body: Body,
    content_type: Option<HeaderValue>,
    limit: Option<Limit>,
}

struct Limit {
    left: usize,
    exceeded: Arc<AtomicBool>,
}

/// The error of a body of bytes that ends early.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError {
    /// The body is larger than the limit; the caller gets a 413 in place of the handler's response.
    TooLarge,
    /// The connection failed.
    Broken(axum::Error),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("the body is larger than the server takes"),
            Self::Broken(_) => f.write_str("the body could not be read to its end"),
        }
    }
}

impl Error for StreamError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TooLarge => None,
            Self::Broken(error) => Some(error),
        }
    }
}

impl ByteStream {
    /// Creates a body from anything that axum takes as one: bytes, a string, the stream of a file.
    #[must_use]
    pub fn new(body: impl Into<Body>) -> Self {
        Self {
            body: body.into(),
            content_type: None,
            limit: None,
        }
    }

    /// Creates a body from pieces.
    #[must_use]
    pub fn from_stream<S, B, E>(pieces: S) -> Self
    where
        S: Stream<Item = Result<B, E>> + Send + 'static,
        B: Into<Bytes> + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        Self::new(Body::from_stream(pieces.map(|piece| piece.map(Into::into))))
    }

    /// Sets the media type, for responses that the contract lists with a range such as `image/*`.
    #[must_use]
    pub fn with_content_type(mut self, content_type: HeaderValue) -> Self {
        self.content_type = Some(content_type);
        self
    }

    /// Returns the media type: that of the request for a received body, else the one that was set.
    #[must_use]
    pub fn content_type(&self) -> Option<&HeaderValue> {
        self.content_type.as_ref()
    }

    /// Reads the rest of the body into memory.
    pub async fn collect(mut self) -> Result<Bytes, StreamError> {
        let mut all = BytesMut::new();
        while let Some(piece) = self.next().await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.freeze())
    }

    /// Converts the stream into a body of axum.
    pub fn into_body(self) -> Body {
        if self.limit.is_some() {
            // The stream itself, since it counts the bytes against the limit.
            Body::from_stream(self)
        } else {
            self.body
        }
    }

    pub(super) fn received(
        body: Body,
        limit: usize,
        content_type: Option<HeaderValue>,
        exceeded: Arc<AtomicBool>,
    ) -> Self {
        Self {
            body,
            content_type,
            limit: Some(Limit {
                left: limit,
                exceeded,
            }),
        }
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteStream")
            .field("content_type", &self.content_type)
            .finish_non_exhaustive()
    }
}

impl From<Vec<u8>> for ByteStream {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl From<Bytes> for ByteStream {
    fn from(bytes: Bytes) -> Self {
        Self::new(bytes)
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes, StreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(StreamError::Broken(error))));
                }
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            // Trailers are not part of the bytes.
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            if let Some(limit) = &mut self.limit {
                let Some(left) = limit.left.checked_sub(bytes.len()) else {
                    limit.exceeded.store(true, Ordering::Relaxed);
                    // A handler that reads on after the error finds the end.
                    self.body = Body::empty();
                    return Poll::Ready(Some(Err(StreamError::TooLarge)));
                };
                limit.left = left;
            }
            return Poll::Ready(Some(Ok(bytes)));
        }
    }
}

/// The parts of a request body, one by one.
pub type PartStream<T> = parts::PartStream<T, ByteStream>;

/// Why a part of a request body is missing.
pub type StreamedPart = parts::StreamedPartError<StreamError>;

/// The items of a request body.
pub type ItemStream<T> = items::ItemStream<T, ByteStream>;

/// Why an item of a request body is missing.
pub type ItemError = items::ItemError<StreamError>;

/// One server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    name: Option<String>,
    id: Option<String>,
    data: String,
}

impl Event {
    /// Creates an event with this data.
    #[must_use]
    pub fn new(data: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            ..Self::default()
        }
    }

    /// Creates an event whose data is JSON.
    pub fn json<T: serde::Serialize + ?Sized>(data: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::new(serde_json::to_string(data)?))
    }

    /// Sets the event's type. Line breaks in it are removed.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        // A line break would begin another field.
        self.name = Some(name.replace(['\r', '\n'], ""));
        self
    }

    /// Sets the event's id. Line breaks and NUL in it are removed.
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        // By the standard, readers ignore an id with a null character.
        self.id = Some(id.replace(['\r', '\n', '\0'], ""));
        self
    }

    fn into_bytes(self) -> Bytes {
        let mut text = String::with_capacity(self.data.len() + 16);
        for (field, value) in [("event", &self.name), ("id", &self.id)] {
            if let Some(value) = value {
                text.extend([field, ": ", value, "\n"]);
            }
        }
        // A line break would end the field, so each line becomes a field of its own.
        for line in self.data.replace("\r\n", "\n").split(['\r', '\n']) {
            text.extend(["data: ", line, "\n"]);
        }
        text.push('\n');
        text.into()
    }
}

/// A body of server-sent events (`text/event-stream`).
pub struct EventStream(Body);

impl EventStream {
    /// Creates a body from events; an error ends the stream.
    #[must_use]
    pub fn new<S, E>(events: S) -> Self
    where
        S: Stream<Item = Result<Event, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        Self(Body::from_stream(
            events.map(|event| event.map(Event::into_bytes)),
        ))
    }

    pub(super) fn into_body(self) -> Body {
        self.0
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream")
    }
}

/// What a handler needs to take over the connection: the request's extensions, which include
/// hyper's `OnUpgrade`.
#[derive(Debug)]
pub struct Upgrade(Extensions);

impl Upgrade {
    pub(super) fn new(extensions: Extensions) -> Self {
        Self(extensions)
    }

    /// Returns the extensions, in which `remove::<hyper::upgrade::OnUpgrade>()` finds the future
    /// connection.
    #[must_use]
    pub fn into_extensions(self) -> Extensions {
        self.0
    }
}

/// The headers of a 101: `Upgrade`, `Connection`, and those of the new protocol.
#[derive(Debug, Clone, Default)]
pub struct Handshake {
    pub(super) headers: HeaderMap,
}

impl Handshake {
    /// Creates a handshake with these headers.
    #[must_use]
    pub fn new(headers: HeaderMap) -> Self {
        Self { headers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_written_by_the_standard() {
        let event = Event::new("a\nb\r\nc").with_name("tick\n").with_id("7");
        assert_eq!(
            event.into_bytes(),
            "event: tick\nid: 7\ndata: a\ndata: b\ndata: c\n\n"
        );
    }
}
