//! Responses as HTTP: the bodies and headers of what a handler returns.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value;

use super::json_writer;
use super::operation::{ListedResponse, Parameter};
use super::streams::{ByteStream, EventStream, Handshake};
use crate::Wire;
use crate::items::{Framing, ItemBody};
use crate::parts::{Content, Encodings, PartBody, Sequence, with_boundary, written};

/// The extension of a response whose body or header could not be written. The router sends a 500
/// instead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unwritable;

impl ListedResponse {
    /// Writes a response without a body.
    #[must_use]
    pub fn empty(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.code;
        response
    }

    /// Chooses the media type with this index for the body.
    #[must_use]
    pub const fn choose(mut self, at: usize) -> Self {
        // Not `&self.media[at..]`, which constants cannot evaluate.
        let (_, rest) = self.media.split_at(at);
        self.media = rest;
        self
    }

    /// Writes a response in JSON.
    #[must_use]
    pub fn json<T: Serialize + ?Sized>(self, body: &T) -> Response {
        json_or_empty(self.code, self.content_type(), body)
    }

    /// Writes a response whose body is a single value as text.
    #[must_use]
    pub fn text<T: Serialize + ?Sized>(self, body: &T) -> Response {
        match serde_json::to_value(body) {
            Ok(value) => with_body(self.code, self.content_type(), flat(&value).into_bytes()),
            Err(error) => unwritable(&error),
        }
    }

    /// Writes a response as a form.
    #[must_use]
    pub fn form<T: Serialize + ?Sized>(self, body: &T) -> Response {
        match serde_json::to_value(body) {
            Ok(value) => with_body(self.code, self.content_type(), form(&value).into_bytes()),
            Err(error) => unwritable(&error),
        }
    }

    /// Writes a response of bytes. If the contract lists a range such as `image/*`, or a multipart
    /// type, the stream's own media type is sent.
    #[must_use]
    pub fn stream(self, body: ByteStream) -> Response {
        let listed = self.content_type();
        // A range has no name of its own, and multipart's name holds the boundary.
        let is_open = listed.contains('*') || listed.starts_with("multipart/");
        let own = body.content_type().cloned().filter(|_| is_open);
        let content_type = own.unwrap_or_else(|| {
            HeaderValue::from_static(if listed.contains('*') {
                "application/octet-stream"
            } else {
                listed
            })
        });
        let mut response = Response::new(body.into_body());
        *response.status_mut() = self.code;
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, content_type);
        response
    }

    /// Writes a response of server-sent events.
    #[must_use]
    pub fn events(self, body: EventStream) -> Response {
        let mut response = Response::new(body.into_body());
        *response.status_mut() = self.code;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(self.content_type()),
        );
        // A cache would repeat old events.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    /// Writes a response that is a sequence of items. An item that cannot be written ends the body
    /// early, so that the caller sees that it is cut off.
    #[must_use]
    pub fn items<T: Wire + Send + 'static>(self, body: ItemBody<T>) -> Response {
        let listed = self.content_type();
        let bytes = body.into_bytes(listed).inspect_err(|error| {
            tracing::error!(%error, "an item of a response could not be written");
        });
        let mut response = Response::new(Body::from_stream(bytes));
        *response.status_mut() = self.code;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(listed));
        if Framing::of(listed) == Some(Framing::Events) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        response
    }

    /// Writes a response of parts. Parts that do not fit the contract make it an internal error.
    #[must_use]
    pub fn multiparts<T: Sequence>(self, body: T) -> Response {
        let Some(encodings) = self.encodings() else {
            return unwritable(&"the contract describes no parts");
        };
        match written(body, encodings) {
            Ok((bytes, boundary)) => match with_boundary(self.multipart_type(), &boundary) {
                Ok(content_type) => self.sent(content_type, Body::from(bytes)),
                Err(error) => unwritable(&error),
            },
            Err(error) => unwritable(&error),
        }
    }

    /// Writes a response of parts that are sent one by one. A part that does not fit the contract
    /// ends the body early, so that the caller sees that it is cut off.
    #[must_use]
    pub fn part_stream<T: Content>(self, body: PartBody<T>) -> Response {
        let Some(encodings) = self.encodings() else {
            return unwritable(&"the contract describes no parts");
        };
        let (content_type, bytes) = match body.into_bytes(self.multipart_type(), encodings) {
            Ok(written) => written,
            Err(error) => return unwritable(&error),
        };
        let bytes = bytes.inspect_err(|error| {
            tracing::error!(%error, "a part of a response could not be written");
        });
        self.sent(content_type, Body::from_stream(bytes))
    }

    /// Returns the media type of parts, to which the boundary is appended.
    fn multipart_type(self) -> &'static str {
        let listed = self.content_type();
        // A range has no name of its own.
        if listed.contains('*') {
            "multipart/mixed"
        } else {
            listed
        }
    }

    /// Returns the encodings of the parts of the body.
    fn encodings(self) -> Option<&'static Encodings> {
        self.media.first()?.encodings
    }

    fn sent(self, content_type: HeaderValue, body: Body) -> Response {
        let mut response = Response::new(body);
        *response.status_mut() = self.code;
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, content_type);
        response
    }

    /// Writes a response without a body and with the headers of `handshake`, after which the
    /// connection changes its protocol.
    #[must_use]
    pub fn handshake(self, handshake: Handshake) -> Response {
        let mut response = self.empty();
        *response.headers_mut() = handshake.headers;
        response
    }

    fn content_type(self) -> &'static str {
        self.media
            .first()
            .map_or("application/octet-stream", |media| media.name)
    }
}

/// Adds a header to a response as the contract describes it. A value that is null adds nothing. A
/// value that cannot be written makes the whole response an internal error, since a caller would
/// read another value.
#[must_use]
pub fn with_header<T: Serialize + ?Sized>(
    mut response: Response,
    header: &Parameter,
    value: &T,
) -> Response {
    let Ok(name) = HeaderName::from_bytes(header.name.as_bytes()) else {
        return response;
    };
    let value = match serde_json::to_value(value) {
        Ok(value) => value,
        Err(error) => return unwritable(&error),
    };
    if name != header::SET_COOKIE && !is_separable(&value) {
        return unwritable(&format_args!("an item of the header `{name}` has a comma"));
    }
    let headers = response.headers_mut();
    match &value {
        Value::Null => {}
        // One line each, because a cookie may contain a comma.
        Value::Array(items) if name == header::SET_COOKIE => {
            for item in items {
                headers.append(&name, header_value(&flat(item)));
            }
        }
        Value::Object(properties) if header.explode => {
            let pairs: Vec<String> = properties
                .iter()
                .map(|(key, value)| format!("{key}={}", flat(value)))
                .collect();
            headers.insert(name, header_value(&pairs.join(",")));
        }
        value => {
            headers.insert(name, header_value(&flat(value)));
        }
    }
    response
}

pub(super) fn json_or_empty<T: Serialize + ?Sized>(
    status: StatusCode,
    content_type: &'static str,
    body: &T,
) -> Response {
    // Into memory and not into the connection: an error must still be able to become a 500.
    match json_writer::json(body) {
        Ok(bytes) => with_body(status, content_type, bytes),
        Err(error) => unwritable(&error),
    }
}

fn with_body(status: StatusCode, content_type: &'static str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(Bytes::from(bytes)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Returns whether commas separate the items of a list, or the names and values of an object,
/// without ambiguity.
fn is_separable(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| !flat(item).contains(',')),
        Value::Object(properties) => properties
            .iter()
            .all(|(key, value)| !key.contains(',') && !flat(value).contains(',')),
        _ => true,
    }
}

fn unwritable(error: &dyn std::fmt::Display) -> Response {
    tracing::error!(%error, "a response could not be written");
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response.extensions_mut().insert(Unwritable);
    response
}

/// Writes a value in the style `simple`: `a,b`, `k,v,k,v`.
pub(super) fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join(","),
        Value::Object(properties) => properties
            .iter()
            .map(|(key, value)| format!("{key},{}", flat(value)))
            .collect::<Vec<_>>()
            .join(","),
    }
}

fn form(value: &Value) -> String {
    let encode = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let mut pairs = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                pairs.extend(
                    items
                        .iter()
                        .map(|item| format!("{}={}", encode(key), encode(&flat(item)))),
                );
            }
            // OpenAPI's default for an object in a form is JSON.
            Value::Object(_) => {
                pairs.push(format!("{}={}", encode(key), encode(&value.to_string())));
            }
            scalar => pairs.push(format!("{}={}", encode(key), encode(&flat(scalar)))),
        }
    }
    pairs.join("&")
}

/// Converts a string into the value of a header. If it has characters that headers cannot have,
/// they are percent-encoded, so that no line break gets through.
fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| {
        let encoded =
            percent_encoding::utf8_percent_encode(text, percent_encoding::CONTROLS).to_string();
        HeaderValue::from_str(&encoded).unwrap_or(HeaderValue::from_static(""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_hold_lists_and_never_line_breaks() {
        let header = |value: Value| {
            let response = with_header(Response::default(), &Parameter::header("X-A"), &value);
            response
                .headers()
                .get("x-a")
                .map(|value| String::from_utf8(value.as_bytes().to_vec()).unwrap())
        };
        assert_eq!(header(serde_json::json!(["a", 1])).as_deref(), Some("a,1"));
        assert_eq!(
            header(serde_json::json!({"k": true})).as_deref(),
            Some("k,true")
        );
        assert_eq!(
            header(serde_json::json!("a\r\nSet-Cookie: b")).as_deref(),
            Some("a%0D%0ASet-Cookie: b")
        );
        assert_eq!(header(Value::Null), None);
    }
}
