//! Reading responses into the types of the contract.

use std::mem;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use reqwest::{Response, Upgraded};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::Origin;
use super::lenient::{self, Body};
use super::{
    ByteStream, Error, EventStream, InterruptedResponse, InvalidResponse, OversizedResponse,
    ResponseValue,
};
use crate::Wire;
use crate::json::from_slice_lenient;

/// Reads a JSON body leniently: properties and enumeration values that are newer than this client
/// are accepted.
pub async fn decode<T: Wire, E>(response: Response) -> Result<ResponseValue<T>, Error<E>> {
    whole(response, from_slice_lenient::<T>, |body| {
        from_slice_lenient::<T>(body).map(drop)
    })
    .await
}

/// Decodes a text body that is a single value: a string, or a number or boolean as in JSON. Decodes
/// leniently, as [`decode`] does.
pub async fn decode_text<T: DeserializeOwned, E>(
    response: Response,
) -> Result<ResponseValue<T>, Error<E>> {
    whole(response, read_text, |body| read_text::<T>(body).map(drop)).await
}

fn read_text<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    let text = String::from_utf8_lossy(body);
    serde_json::from_value(Value::String(text.to_string())).or_else(|error| {
        // Numbers and booleans are written as in JSON. If both fail, the first error is the more
        // precise one.
        serde_json::from_str(&text).map_err(|_| error)
    })
}

/// Reads a body into memory and decodes it with `read`. `check` decodes it too, and drops the value.
async fn whole<T, E>(
    mut response: Response,
    read: fn(&[u8]) -> serde_json::Result<T>,
    check: fn(&[u8]) -> serde_json::Result<()>,
) -> Result<ResponseValue<T>, Error<E>> {
    let status = response.status();
    let headers = mem::take(response.headers_mut());
    let origin = origin(&response);
    let operation = origin.operation;
    let body = match bytes(response, origin.limit).await {
        Ok(Some(body)) => body,
        Ok(None) => {
            let oversized = OversizedResponse::new(status, headers, origin);
            return Err(Error::OversizedResponse(Box::new(oversized)));
        }
        Err(error) => {
            let interrupted = InterruptedResponse::new(status, headers, error);
            return Err(Error::InterruptedResponse(Box::new(interrupted)));
        }
    };
    lenient::keep(|| Body {
        bytes: body.clone(),
        check,
        operation,
    });
    match crate::lenient(|| read(&body)) {
        Ok(value) => Ok(ResponseValue::new(value, status, headers)),
        Err(error) => {
            let invalid = InvalidResponse::new(status, headers, body, error, operation, check);
            Err(Error::InvalidResponse(Box::new(invalid)))
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

/// Returns what is known of the call of a response.
fn origin(response: &Response) -> Origin {
    response
        .extensions()
        .get::<Origin>()
        .copied()
        .unwrap_or_default()
}

/// Returns a response without its body.
#[must_use]
pub fn empty(mut response: Response) -> ResponseValue<()> {
    let headers = mem::take(response.headers_mut());
    ResponseValue::new((), response.status(), headers)
}

/// Returns a response whose body is a stream of bytes.
#[must_use]
pub fn stream(mut response: Response) -> ResponseValue<ByteStream> {
    let status = response.status();
    let headers = mem::take(response.headers_mut());
    ResponseValue::new(ByteStream::new(response.bytes_stream()), status, headers)
}

/// Returns a response whose body is a stream of server-sent events.
#[must_use]
pub fn events(response: Response) -> ResponseValue<EventStream> {
    map(stream(response), EventStream::new)
}

/// Returns a 101 response, whose value is the connection with its new protocol.
pub async fn upgrade<E>(mut response: Response) -> Result<ResponseValue<Upgraded>, Error<E>> {
    let status = response.status();
    let headers = mem::take(response.headers_mut());
    let upgraded = response.upgrade().await?;
    Ok(ResponseValue::new(upgraded, status, headers))
}

/// Converts the value of a response with `change`. The status and the headers stay.
pub fn map<T, U>(response: ResponseValue<T>, change: impl FnOnce(T) -> U) -> ResponseValue<U> {
    let (status, headers) = (response.status(), response.headers().clone());
    ResponseValue::new(change(response.into_inner()), status, headers)
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
