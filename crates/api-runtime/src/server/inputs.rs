//! Reads the parameters and the body of a request by their descriptions, and collects all
//! violations.

#[cfg(feature = "multipart")]
mod multipart;
mod parts;

use std::sync::Arc;

use axum::body::Body as HttpBody;
use http::header;
use http_body::Body as _;

use super::absent::{decode_absent, decode_null};
use super::body::{is_empty, matching, read};
use super::call::Call;
use super::form::decode_form;
use super::messages::RequestBody;
use super::operation::{Body, Location, Parameter};
use super::reasons::Reasons;
use super::rejection::{Rejected, Rejection, RejectionKind, Violation};
use super::streams::{ByteStream, ItemStream, Upgrade};
use super::text::{Guess, InputError, Text};
use super::written::decode_parameter;
use crate::Wire;
use crate::alternatives::TOO_MANY;
use crate::items::Framing;

/// The number of violations that the message of a rejection spells out.
const SPELLED_OUT: usize = 3;

/// The media type that the body of a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// A media type that the operation lists, by its index.
    Media(usize),
    /// The request has no body.
    Absent,
    /// The body cannot be read, or has a media type that the operation does not list. The rejection
    /// is recorded.
    Unsupported,
}

/// A reader of the parameters and the body of one request. It records everything that cannot be
/// read, and [`finish`](Self::finish) rejects the request for all of it together.
#[derive(Debug)]
pub struct Inputs<'c> {
    call: &'c mut Call,
    violations: Vec<Violation>,
    rejected: Option<Rejected>,
}

impl<'c> Inputs<'c> {
    pub(super) fn new(call: &'c mut Call) -> Self {
        Self {
            call,
            violations: Vec::new(),
            rejected: None,
        }
    }

    /// Decodes a parameter. Returns `None` after recording a violation. An absent parameter that is
    /// not required has its default, or is the `None` of an `Option`.
    pub fn take<T: Wire>(&mut self, parameter: &Parameter) -> Option<T> {
        match self.call.raw(parameter) {
            Some(raw) => match decode_parameter(parameter, &raw) {
                Ok(value) => return Some(value),
                Err(error) => {
                    self.violations
                        .push(Violation::of(parameter, error.pointer, error.message));
                }
            },
            None => match absent(parameter) {
                Some(value) => return Some(value),
                None => self.violations.push(Violation::of(
                    parameter,
                    String::new(),
                    "is required".to_owned(),
                )),
            },
        }
        None
    }

    /// Returns what a handler needs to take over the connection.
    pub fn upgrade(&mut self) -> Upgrade {
        Upgrade::new(self.call.parts.extensions.clone())
    }

    /// Selects the listed media type that the request's `Content-Type` names. A request without a
    /// body has none.
    pub fn choose(&mut self, body: &Body) -> Chosen {
        if is_empty(self.call.body()) {
            return Chosen::Absent;
        }
        let name = self
            .call
            .parts
            .headers
            .get(header::CONTENT_TYPE)
            .map(header::HeaderValue::as_bytes);
        if let Some(at) = matching(body.media, name) {
            return Chosen::Media(at);
        }
        let names: Vec<&str> = body.media.iter().map(|media| media.name).collect();
        let message = format!(
            "the content type of the body is not supported: send {}",
            names.join(" or ")
        );
        self.rejected = Some(Box::new(Rejection::new(
            RejectionKind::UnsupportedMediaType,
            message,
        )));
        Chosen::Unsupported
    }

    /// Returns the value of an absent body. If the body is required, records that it is missing and
    /// returns `None`.
    fn no_body<T: Wire>(&mut self, body: &Body) -> Option<T> {
        let value = if body.required { None } else { decode_absent() };
        value.or_else(|| self.missing())
    }

    /// Records that the required body is missing, and returns `None`.
    fn missing<T>(&mut self) -> Option<T> {
        self.violations
            .push(Violation::of_body(String::new(), "is required".to_owned()));
        None
    }

    /// Selects the media type as [`choose`](Self::choose) does. A body in chunks without a
    /// `Content-Type` is read before, since it may turn out to be empty.
    async fn chosen(&mut self, body: &Body) -> Chosen {
        let is_named = self.call.parts.headers.contains_key(header::CONTENT_TYPE);
        // Without a media type and a length, the body may be absent, and only its end shows that.
        if !is_named && self.call.body().size_hint().exact().is_none() {
            let Some(bytes) = self.read().await else {
                return Chosen::Unsupported;
            };
            // Put back as it was read, so that the rest goes on as with a length.
            *self.call.body() = HttpBody::from(bytes);
        }
        self.choose(body)
    }

    /// Does what [`chosen`](Self::chosen) does for a body of one of several media types. A body that needs no
    /// `Content-Type` is not read before, since it may be a long stream.
    async fn chosen_of_several(&mut self, body: &Body) -> Chosen {
        if matching(body.media, None).is_some() {
            self.choose(body)
        } else {
            self.chosen(body).await
        }
    }

    /// Decodes the body of an operation that takes only JSON. Returns `None` after recording the
    /// error.
    pub async fn json<T: Wire>(
        &mut self,
        body: &Body,
        reasons: &'static impl Reasons,
    ) -> Option<T> {
        match self.chosen(body).await {
            // The type of a body that may be left out is an `Option` of what the body may be.
            Chosen::Media(at) => self.read_json(body, at, reasons, !body.required).await,
            Chosen::Absent => self.no_body(body),
            Chosen::Unsupported => None,
        }
    }

    /// Decodes the body as JSON. `at` is the index of its media type in `body`. Returns `None`
    /// after recording the reasons.
    pub async fn json_as<T: Wire>(
        &mut self,
        body: &Body,
        at: usize,
        reasons: &'static impl Reasons,
    ) -> Option<T> {
        self.read_json(body, at, reasons, false).await
    }

    /// Does what [`json_as`](Self::json_as) does. `may_be_absent` is whether the type is an `Option`
    /// only because the body may be left out: null is for what is inside of it, then.
    async fn read_json<T: Wire>(
        &mut self,
        body: &Body,
        at: usize,
        reasons: &'static impl Reasons,
        may_be_absent: bool,
    ) -> Option<T> {
        let bytes = self.read().await?;
        // A body in chunks turns out to be empty only when it is read.
        if bytes.is_empty() {
            return self.no_body(body);
        }
        // Where the body may be left out, its type takes null for absence, which the schema may
        // not.
        let is_plain = body.required || bytes.trim_ascii() != b"null";
        // The type checks what the schema says, so a valid body is read only once, and again for
        // the reasons if it is not valid.
        let decoded = if may_be_absent && !is_plain {
            decode_null::<T>()
        } else {
            let decoded = if body.media[at].is_lenient {
                crate::json::from_slice_lenient::<T>(&bytes)
            } else {
                crate::json::from_slice_strict::<T>(&bytes)
            };
            // The schema may accept it, and would say nothing.
            if decoded.as_ref().is_err_and(is_too_much) {
                let message = TOO_MANY.to_owned();
                self.violations
                    .push(Violation::of_body(String::new(), message));
                return None;
            }
            decoded.ok()
        };
        if decoded.is_some() && is_plain {
            return decoded;
        }
        let found = reasons.of_body::<T>(bytes, &body.media[at]).await;
        if found.is_empty() && !is_plain && decoded.is_some() {
            return decoded;
        }
        self.violations.extend(
            found
                .into_iter()
                .map(|(pointer, message)| Violation::of_body(pointer, message)),
        );
        // The schema accepts what the type rejected, but a rejection needs a reason.
        if self.violations.is_empty() {
            let message = "does not match its schema".to_owned();
            self.violations
                .push(Violation::of_body(String::new(), message));
        }
        None
    }

    /// Decodes a required body of one of several media types, which `Content-Type` selects. Returns
    /// `None` after recording the error.
    pub async fn one_of<T: RequestBody>(&mut self, body: &Body) -> Option<T> {
        match self.chosen_of_several(body).await {
            Chosen::Media(at) => T::read(self, body, at).await,
            Chosen::Absent => self.missing(),
            Chosen::Unsupported => None,
        }
    }

    /// Decodes an optional body of one of several media types: `Some(None)` if it is absent.
    /// Returns `None` after recording the error.
    pub async fn optional_one_of<T: RequestBody>(&mut self, body: &Body) -> Option<Option<T>> {
        match self.chosen_of_several(body).await {
            Chosen::Media(at) => T::read(self, body, at).await.map(Some),
            Chosen::Absent => Some(None),
            Chosen::Unsupported => None,
        }
    }

    /// Decodes the body of an operation that takes only a form. Returns `None` after recording the
    /// error.
    pub async fn form<T: Wire>(&mut self, body: &Body) -> Option<T> {
        match self.chosen(body).await {
            Chosen::Absent if !body.required => self.no_body(body),
            Chosen::Unsupported => None,
            // A form without fields is a form.
            Chosen::Absent => self.form_as(body, 0).await,
            Chosen::Media(at) => self.form_as(body, at).await,
        }
    }

    /// Decodes the body as a form. `at` is the index of its media type in `body`. Returns `None` after
    /// recording the error. An empty body that is not required counts as absent.
    pub async fn form_as<T: Wire>(&mut self, body: &Body, at: usize) -> Option<T> {
        let bytes = self.read().await?;
        if bytes.is_empty() && !body.required {
            return self.no_body(body);
        }
        let decoded = std::str::from_utf8(&bytes)
            .map_err(|_| InputError::new("must be UTF-8"))
            .and_then(|text| decode_form(text, body.media[at].fields));
        self.noted(decoded)
    }

    /// Decodes the body of an operation that takes only text. Returns `None` after recording the
    /// error.
    pub async fn text<T: Wire>(&mut self, body: &Body) -> Option<T> {
        match self.chosen(body).await {
            Chosen::Absent if !body.required => self.no_body(body),
            Chosen::Unsupported => None,
            // A text may be empty.
            Chosen::Absent | Chosen::Media(_) => self.text_as(body).await,
        }
    }

    /// Decodes the body as text. Returns `None` after recording the error. An empty body that is
    /// not required counts as absent.
    pub async fn text_as<T: Wire>(&mut self, body: &Body) -> Option<T> {
        let bytes = self.read().await?;
        if bytes.is_empty() && !body.required {
            return self.no_body(body);
        }
        let decoded = std::str::from_utf8(&bytes)
            .map_err(|_| InputError::new("must be UTF-8"))
            .and_then(|text| {
                let guess = Guess::of_text();
                T::decode(Text {
                    text,
                    guess: &guess,
                })
            });
        self.noted(decoded)
    }

    /// Returns the body of an operation that takes only bytes, as a stream. An absent body is an
    /// empty stream. Returns `None` after recording the error.
    pub fn stream(&mut self, body: &Body) -> Option<ByteStream> {
        match self.choose(body) {
            // An empty body is a stream without bytes.
            Chosen::Media(_) | Chosen::Absent => self.stream_as(),
            Chosen::Unsupported => None,
        }
    }

    /// Returns an optional body of bytes as a stream: `Some(None)` if it is absent. Returns `None`
    /// after recording the error.
    pub fn optional_stream(&mut self, body: &Body) -> Option<Option<ByteStream>> {
        match self.choose(body) {
            Chosen::Media(_) => self.stream_as().map(Some),
            Chosen::Absent => Some(None),
            Chosen::Unsupported => None,
        }
    }

    /// Returns the body as a stream of bytes, which fails at the limit of the body's size. Returns
    /// `None` after recording that the body is certain to be too large.
    pub fn stream_as(&mut self) -> Option<ByteStream> {
        let limit = self.call.limits.bytes;
        let body = self.take_body(limit)?;
        let content_type = self.call.parts.headers.get(header::CONTENT_TYPE).cloned();
        // The handler may turn the error of the stream into a response of its own; by this flag
        // `Call::respond` sends a 413 all the same.
        let exceeded = self.call.exceeded.insert(Arc::default());
        Some(ByteStream::received(
            body,
            limit,
            content_type,
            Arc::clone(exceeded),
        ))
    }

    /// Returns the body of an operation that takes only a sequence of items. An absent body is an
    /// empty sequence. Returns `None` after recording the error.
    pub fn items<T>(&mut self, body: &Body) -> Option<ItemStream<T>> {
        match self.choose(body) {
            Chosen::Media(at) => self.items_as(body, at),
            Chosen::Absent => self.items_as(body, 0),
            Chosen::Unsupported => None,
        }
    }

    /// Returns an optional sequence of items: `Some(None)` if it is absent. Returns `None` after
    /// recording the error.
    pub fn optional_items<T>(&mut self, body: &Body) -> Option<Option<ItemStream<T>>> {
        match self.choose(body) {
            Chosen::Media(at) => self.items_as(body, at).map(Some),
            Chosen::Absent => Some(None),
            Chosen::Unsupported => None,
        }
    }

    /// Returns the body as a sequence of items. `at` is the index of its media type in `body`.
    /// Returns `None` after recording that the body is certain to be too large.
    pub fn items_as<T>(&mut self, body: &Body, at: usize) -> Option<ItemStream<T>> {
        let media = body.media.get(at)?;
        let framing = Framing::of(media.name).unwrap_or(Framing::Lines);
        let bytes = self.stream_as()?;
        Some(ItemStream::new(framing, bytes, media.is_lenient))
    }

    /// Returns the value that `build` returns. If anything was recorded, returns a rejection with
    /// all of it instead.
    pub fn finish<T>(self, build: impl FnOnce() -> Option<T>) -> Result<T, Rejected> {
        if self.violations.is_empty() {
            if let Some(rejected) = self.rejected {
                return Err(rejected);
            }
            // Only a `RequestBody` that returns `None` without a violation gets here.
            let lost = || {
                Box::new(Rejection::new(
                    RejectionKind::Internal,
                    "the request could not be put together",
                ))
            };
            return build().ok_or_else(lost);
        }
        // Violations go before `rejected`, which is about the body: parameters are checked first.
        let is_of_body = self
            .violations
            .iter()
            .all(|violation| violation.location == Location::Body);
        let kind = if is_of_body {
            RejectionKind::InvalidBody
        } else {
            RejectionKind::InvalidParameters
        };
        Err(Box::new(
            Rejection::new(kind, message(&self.violations)).with_violations(self.violations),
        ))
    }

    /// Returns the decoded value, or `None` after recording the error as a violation of the body.
    fn noted<T>(&mut self, decoded: Result<T, InputError>) -> Option<T> {
        decoded
            .map_err(|error| {
                self.violations
                    .push(Violation::of_body(error.pointer, error.message));
            })
            .ok()
    }

    /// Reads all bytes of the body, or returns `None` after recording why they cannot be read.
    async fn read(&mut self) -> Option<bytes::Bytes> {
        let body = std::mem::take(self.call.body());
        match read(body, self.call.limits).await {
            Ok(bytes) => Some(bytes),
            Err(rejected) => {
                self.rejected = Some(rejected);
                None
            }
        }
    }

    fn take_body(&mut self, limit: usize) -> Option<HttpBody> {
        if super::body::is_surely_over(self.call.body(), limit) {
            self.rejected = Some(super::body::too_large(limit));
            return None;
        }
        Some(std::mem::take(self.call.body()))
    }
}

/// Returns whether a value was not decoded because of the work that its alternatives take.
fn is_too_much(error: &serde_json::Error) -> bool {
    error.to_string().starts_with(TOO_MANY)
}

/// Returns the value of a parameter that the request does not have: its default, or the `None` of
/// an `Option`. Returns `None` if the parameter is required or its type has no such value.
fn absent<T: Wire>(parameter: &Parameter) -> Option<T> {
    if parameter.required {
        return None;
    }
    match parameter.default {
        Some(json) => crate::json::from_slice_strict(json.as_bytes()).ok(),
        None => decode_absent(),
    }
}

/// Returns the message of a rejection, which spells out the first violations.
fn message(violations: &[Violation]) -> String {
    let mut text = "the request does not match the contract: ".to_owned();
    for (at, violation) in violations.iter().take(SPELLED_OUT).enumerate() {
        if at > 0 {
            text.push_str("; ");
        }
        let place = violation.place();
        text.push_str(if place.is_empty() { "the body" } else { &place });
        text.push(' ');
        text.push_str(&violation.message);
    }
    if violations.len() > SPELLED_OUT {
        text.push_str("; and more");
    }
    text
}
