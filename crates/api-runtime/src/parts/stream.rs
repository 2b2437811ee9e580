//! Multipart bodies whose parts are read and sent one by one.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;
use http::HeaderValue;

use super::positions::part;
use super::splitter::Splitter;
use super::writer::{boundary, end, head, with_boundary, written_part};
use super::{Content, Encodings, MAX_PART_BYTES, Part, PartError};
use crate::media_type::MediaType;

/// The maximum number of characters of a boundary (RFC 2046, section 5.1.1).
const MOST_BOUNDARY: usize = 70;

/// The rule of a body whose content type has no boundary.
pub(crate) const NO_BOUNDARY: &str =
    "must be multipart with a `boundary` of at most 70 characters in its content type";

/// Returns the boundary of a content type, if it is there and not too long.
pub(crate) fn boundary_of(name: &HeaderValue) -> Option<String> {
    let name = MediaType::parse(name.to_str().ok()?);
    let boundary = name.parameter("boundary")?;
    (1..=MOST_BOUNDARY)
        .contains(&boundary.len())
        .then(|| boundary.to_owned())
}

/// Why a part of a streamed body is missing. `E` is the error of the body itself.
///
/// After [`Interrupted`](Self::Interrupted) and [`Broken`](Self::Broken) the stream ends; after the
/// other errors it goes on with the next part. `Display` and `Debug` print no bytes of a part.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamedPartError<E> {
    /// The body ended early.
    Interrupted(E),
    /// The body is not multipart.
    Broken(PartError),
    /// The part has more bytes than this limit, and was skipped.
    TooLarge(usize),
    /// The part does not fit the contract.
    Invalid(PartError),
}

impl<E> fmt::Display for StreamedPartError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(_) => f.write_str("the body ended early"),
            Self::TooLarge(limit) => write!(f, "a part has more than {limit} bytes"),
            Self::Broken(error) | Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for StreamedPartError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Interrupted(error) => Some(error),
            Self::Broken(error) | Self::Invalid(error) => Some(error),
            Self::TooLarge(_) => None,
        }
    }
}

/// The parts of a received body: a [`Stream`] of parts with a `T`, which arrive as pieces of `B`.
///
/// The next piece of the body is read when the next part is asked for.
pub struct PartStream<T, B> {
    body: Option<B>,
    splitter: Splitter,
    /// The error with which the stream ends.
    failed: Option<PartError>,
    encodings: &'static Encodings,
    is_lenient: bool,
    /// The index of the next part.
    at: usize,
    parts: PhantomData<fn() -> T>,
}

impl<T, B> PartStream<T, B> {
    /// Creates the stream of the parts of a body.
    pub(crate) fn new(
        boundary: Option<&str>,
        body: B,
        encodings: &'static Encodings,
        is_lenient: bool,
    ) -> Self {
        Self {
            body: Some(body),
            splitter: Splitter::new(boundary.unwrap_or_default(), MAX_PART_BYTES),
            failed: boundary.is_none().then(|| PartError::new(NO_BOUNDARY)),
            encodings,
            is_lenient,
            at: 0,
            parts: PhantomData,
        }
    }

    /// Sets the maximum number of bytes that a part may have, in place of [`MAX_PART_BYTES`]. A
    /// larger part is skipped, and an error in its place.
    #[must_use]
    pub fn max_part_bytes(mut self, bytes: usize) -> Self {
        self.splitter.limit = bytes;
        self
    }
}

impl<T, B, E> Stream for PartStream<T, B>
where
    T: Content,
    B: Stream<Item = Result<Bytes, E>> + Unpin,
{
    type Item = Result<Part<T>, StreamedPartError<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(error) = this.failed.take() {
                this.body = None;
                return Poll::Ready(Some(Err(StreamedPartError::Broken(error))));
            }
            let Some(body) = &mut this.body else {
                return Poll::Ready(None);
            };
            match this.splitter.take() {
                Ok(Some(frame)) => {
                    let at = this.at;
                    this.at += 1;
                    let Some(bytes) = frame.body else {
                        let limit = this.splitter.limit;
                        return Poll::Ready(Some(Err(StreamedPartError::TooLarge(limit))));
                    };
                    let part = part(this.encodings, at, frame.headers, bytes, this.is_lenient);
                    return Poll::Ready(Some(
                        part.map_err(|error| StreamedPartError::Invalid(error.of_part(at))),
                    ));
                }
                Ok(None) => {}
                Err(error) => {
                    this.failed = Some(error);
                    continue;
                }
            }
            match ready!(Pin::new(body).poll_next(cx)) {
                Some(Ok(piece)) => {
                    this.failed = this.splitter.push(&piece).err();
                }
                Some(Err(error)) => {
                    this.body = None;
                    return Poll::Ready(Some(Err(StreamedPartError::Interrupted(error))));
                }
                None => {
                    this.body = None;
                    this.failed = this.splitter.finish().err();
                }
            }
        }
    }
}

impl<T, B> fmt::Debug for PartStream<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartStream")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

type BoxError = Box<dyn Error + Send + Sync>;

/// The parts of a body to send, each as soon as the stream yields it.
pub struct PartBody<T>(Pin<Box<dyn Stream<Item = Result<Part<T>, BoxError>> + Send>>);

impl<T: Content> PartBody<T> {
    /// Creates a body from parts; an error ends the body early.
    #[must_use]
    pub fn new<S, E>(parts: S) -> Self
    where
        S: Stream<Item = Result<Part<T>, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        Self(Box::pin(parts.map(|part| part.map_err(Into::into))))
    }

    /// Returns the body as bytes, and its media type with the boundary. A part that cannot be
    /// written ends the body early.
    pub(crate) fn into_bytes(
        self,
        media_type: &str,
        encodings: &'static Encodings,
    ) -> Result<
        (
            HeaderValue,
            impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static + use<T>,
        ),
        PartError,
    > {
        let boundary = boundary();
        let name = with_boundary(media_type, &boundary)?;
        let mut last = Vec::new();
        end(&boundary, &mut last);
        let parts = self.0.enumerate().map(move |(at, part)| {
            let written = written_part(encodings, at, part?);
            let (headers, content) = written.map_err(|error| error.of_part(at))?;
            let mut bytes = Vec::with_capacity(content.len());
            head(&boundary, &headers, &mut bytes);
            bytes.extend_from_slice(&content);
            bytes.extend_from_slice(b"\r\n");
            Ok(Bytes::from(bytes))
        });
        let last = futures_util::stream::iter([Ok(Bytes::from(last))]);
        Ok((name, parts.chain(last)))
    }
}

impl<T: Content> From<Vec<Part<T>>> for PartBody<T> {
    fn from(parts: Vec<Part<T>>) -> Self {
        Self::new(futures_util::stream::iter(
            parts.into_iter().map(Ok::<Part<T>, BoxError>),
        ))
    }
}

impl<T> fmt::Debug for PartBody<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartBody")
    }
}
