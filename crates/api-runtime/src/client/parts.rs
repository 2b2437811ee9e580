//! Multipart bodies whose parts have a position and no name, in requests and responses.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde::de::Error as _;

use super::decode::whole_body;
use super::{
    Argument, ByteStream, Error, InvalidArgument, InvalidResponse, Misfit, Payload, Received,
    ResponseValue, stream,
};
use crate::parts::{
    self, Content, Encodings, PartBody, PartError, Sequence, StreamedPartError, boundary_of, parse,
    with_boundary, written,
};

/// The parts of a response body, one by one.
pub type PartStream<T> = parts::PartStream<T, ByteStream>;

/// Why a part of a response body is missing.
pub type StreamedPart = StreamedPartError<Error>;

impl Payload {
    /// Creates a body of parts.
    pub fn parts<T: Sequence>(
        content_type: &str,
        body: T,
        encodings: &'static Encodings,
    ) -> Argument<Self> {
        let (bytes, boundary) =
            written(body, encodings).map_err(|error| invalid_argument(&error))?;
        let name =
            with_boundary(content_type, &boundary).map_err(|error| invalid_argument(&error))?;
        Self::new(name.to_str().unwrap_or(content_type), bytes.into())
    }
}

impl Payload<reqwest::Body> {
    /// Creates a body of parts that are sent one by one.
    pub fn part_stream<T: Content>(
        content_type: &str,
        body: PartBody<T>,
        encodings: &'static Encodings,
    ) -> Argument<Self> {
        let (name, bytes) = body
            .into_bytes(content_type, encodings)
            .map_err(|error| invalid_argument(&error))?;
        Self::bytes(
            name.to_str().unwrap_or(content_type),
            reqwest::Body::wrap_stream(bytes),
        )
    }
}

fn invalid_argument(error: &PartError) -> InvalidArgument {
    InvalidArgument::new(format!("`body`: {error}"))
}

/// Reads a body of parts leniently.
pub async fn parts<T: Sequence, E>(
    response: Received,
    encodings: &'static Encodings,
) -> Result<ResponseValue<T>, Error<E>> {
    let boundary = response.headers().get(CONTENT_TYPE).and_then(boundary_of);
    let (head, body) = whole_body(response).await?;
    let read = parse(&body, boundary.as_deref(), encodings, true).and_then(T::read);
    match read {
        Ok(value) => Ok(head.map(|()| value)),
        Err(error) => Err(invalid(&head, body, error)),
    }
}

fn invalid<E>(head: &ResponseValue<()>, body: Bytes, error: PartError) -> Error<E> {
    let words = serde_json::Error::custom(&error);
    let misfit = Misfit::of_part(head.operation(), error);
    let head = (head.status(), head.headers().clone());
    let invalid = InvalidResponse::of_misfit(head, body, words, misfit);
    Error::InvalidResponse(Box::new(invalid))
}

/// Returns a response whose parts are read one by one, leniently.
#[must_use]
pub fn part_stream<T: Content>(
    response: Received,
    encodings: &'static Encodings,
) -> ResponseValue<PartStream<T>> {
    let boundary = response.headers().get(CONTENT_TYPE).and_then(boundary_of);
    super::map(stream(response), |body| {
        PartStream::new(boundary.as_deref(), body, encodings, true)
    })
}
