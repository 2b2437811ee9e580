//! Reading responses into the types of the contract.

use std::mem;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use reqwest::{Response, Upgraded};
use serde::de::Error as _;
use serde_json::Value;

use super::lenient::{self, Body};
use super::response::map;
use super::{
    ByteStream, Error, EventStream, InterruptedResponse, InvalidResponse, Misfit,
    OversizedResponse, Received, ResponseValue,
};
use crate::json::from_slice_lenient;
use crate::media_type::closest;
use crate::wire::shown;
use crate::{Violation, Wire};

/// Reads a JSON body leniently: properties that are newer than this client are accepted, and so are
/// newer values of extensible enumerations.
pub async fn decode<T: Wire, E>(response: Received) -> Result<ResponseValue<T>, Error<E>> {
    let form = Form {
        read: from_slice_lenient::<T>,
        check: |body| from_slice_lenient::<T>(body).map(drop),
        is_text: false,
    };
    whole(response, form).await
}

/// Reads a JSON body as [`decode`] does, if its media type is JSON. For a response whose document
/// says no media type, so that the server's own word is all that there is.
pub async fn decode_if_json<T: Wire, E>(response: Received) -> Result<ResponseValue<T>, Error<E>> {
    let found = content_type(&response);
    if found.ends_with("/json") || found.ends_with("+json") {
        return decode(response).await;
    }
    let (head, body) = whole_body(response).await?;
    let operation = head.operation();
    lenient::keep(|| Body {
        bytes: body.clone(),
        check: |body| from_slice_lenient::<T>(body).map(drop),
        operation,
        is_text: false,
    });
    let rule = if found.is_empty() {
        "has no media type, and must be JSON".to_owned()
    } else {
        format!("is `{}`, and must be JSON", shown(&found))
    };
    let violation = Violation {
        pointer: String::new(),
        message: rule,
    };
    let words = serde_json::Error::custom(&violation.message);
    let received = (head.status(), head.headers().clone());
    let misfit = Misfit::new(operation, violation);
    let invalid = InvalidResponse::of_misfit(received, body, words, misfit);
    Err(Error::InvalidResponse(Box::new(invalid)))
}

/// Decodes a text body that is a single value: a string, or a number or boolean as in JSON. Decodes
/// leniently, as [`decode`] does.
pub async fn decode_text<T: Wire, E>(response: Received) -> Result<ResponseValue<T>, Error<E>> {
    let form = Form {
        read: read_text::<T>,
        check: |body| read_text::<T>(body).map(drop),
        is_text: true,
    };
    whole(response, form).await
}

/// Decodes a text body leniently.
pub(super) fn read_text<T: Wire>(body: &[u8]) -> serde_json::Result<T> {
    let text = String::from_utf8_lossy(body);
    crate::lenient(|| T::decode(Value::String(text.to_string()))).or_else(|error| {
        // Numbers and booleans are written as in JSON. If both fail, the first error is the more
        // precise one.
        from_slice_lenient(text.as_bytes()).map_err(|_| error)
    })
}

/// How a body is decoded.
struct Form<T> {
    read: fn(&[u8]) -> serde_json::Result<T>,
    /// Decodes the body as `read` does, and drops the value.
    check: fn(&[u8]) -> serde_json::Result<()>,
    /// Whether the body is a single value as text, and not JSON.
    is_text: bool,
}

/// Reads a body into memory and decodes it.
async fn whole<T, E>(response: Received, form: Form<T>) -> Result<ResponseValue<T>, Error<E>> {
    let Form {
        read,
        check,
        is_text,
    } = form;
    let (head, body) = whole_body(response).await?;
    let operation = head.operation();
    lenient::keep(|| Body {
        bytes: body.clone(),
        check,
        operation,
        is_text,
    });
    match read(&body) {
        Ok(value) => Ok(head.map(|()| value).keep(body)),
        Err(error) => {
            let (status, headers) = (head.status(), head.headers().clone());
            let invalid = InvalidResponse::new(status, headers, body, error, operation, check);
            Err(Error::InvalidResponse(Box::new(invalid)))
        }
    }
}

/// Reads a body into memory. Returns it with the response, whose value it is not yet.
pub(super) async fn whole_body<E>(
    response: Received,
) -> Result<(ResponseValue<()>, Bytes), Error<E>> {
    let (mut response, origin) = response.into_parts();
    let status = response.status();
    let headers = mem::take(response.headers_mut());
    let operation = Some(origin.operation);
    match bytes(response, origin.limit).await {
        Ok(Some(body)) => Ok((ResponseValue::new((), status, headers).of(operation), body)),
        Ok(None) => {
            let oversized = OversizedResponse::new(status, headers, origin);
            Err(Error::OversizedResponse(Box::new(oversized)))
        }
        Err(error) => {
            let interrupted = InterruptedResponse::new(status, headers, operation, error);
            Err(Error::InterruptedResponse(Box::new(interrupted)))
        }
    }
}

/// Reads a body of at most `limit` bytes into memory. Returns `None` if it has more.
async fn bytes(mut response: Response, limit: usize) -> reqwest::Result<Option<Bytes>> {
    let length = response.content_length().map(usize::try_from);
    match length {
        Some(Ok(length)) if length <= limit => return response.bytes().await.map(Some),
        Some(_) => return Ok(None),
        // A chunked or compressed body says its length only by ending.
        None => {}
    }
    let mut body = BytesMut::new();
    while let Some(piece) = response.chunk().await? {
        if piece.len() > limit - body.len() {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body.freeze()))
}

/// Returns a response without its body.
#[must_use]
pub fn empty(response: Received) -> ResponseValue<()> {
    let (mut response, origin) = response.into_parts();
    let headers = mem::take(response.headers_mut());
    ResponseValue::new((), response.status(), headers).of(Some(origin.operation))
}

/// Returns a response whose body is a stream of bytes.
#[must_use]
pub fn stream(response: Received) -> ResponseValue<ByteStream> {
    let (mut response, origin) = response.into_parts();
    let status = response.status();
    let headers = mem::take(response.headers_mut());
    let operation = Some(origin.operation);
    let body = ByteStream::new(response.bytes_stream()).of(operation);
    ResponseValue::new(body, status, headers).of(operation)
}

/// Returns a response whose body is a stream of server-sent events.
#[must_use]
pub fn events(response: Received) -> ResponseValue<EventStream> {
    map(stream(response), EventStream::new)
}

/// Returns a 101 response, whose value is the connection with its new protocol.
pub async fn upgrade<E>(response: Received) -> Result<ResponseValue<Upgraded>, Error<E>> {
    let (mut response, origin) = response.into_parts();
    let status = response.status();
    let headers = mem::take(response.headers_mut());
    let operation = Some(origin.operation);
    let upgraded = response.upgrade().await;
    let upgraded = upgraded.map_err(|error| Error::<E>::from(error).of(operation))?;
    Ok(ResponseValue::new(upgraded, status, headers).of(operation))
}

/// Returns whether a listed media type is the one of several, which differ in parameters only, that
/// is closest to that of a response: the one with most parameters, all of which the response has, or
/// else the first.
#[must_use]
pub fn is_closest(response: &Response, listed: &[&str], at: usize) -> bool {
    let value = response.headers().get(CONTENT_TYPE);
    let name = value.and_then(|value| value.to_str().ok());
    closest(listed.iter().copied(), name.unwrap_or_default()) == Some(at)
}

/// Returns the media type of a response, in lower case and without parameters. Returns an empty
/// string if the response has none.
#[must_use]
pub fn content_type(response: &Response) -> String {
    let value = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}
