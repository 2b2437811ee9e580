//! Rejections: responses that the framework makes before the handler runs, and the trait that
//! renders them.

use std::borrow::Cow;
use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use super::credentials::AuthError;
use super::operation::{Location, Operation, Parameter};
use super::rate_limit::{RateLimit, seconds};
use super::response;
use axum::response::Response;

/// Renders a [`Rejection`] as the contract's error body. The run time sets status and headers.
pub trait RenderRejection: Send + Sync + 'static {
    /// The contract's error.
    type Body: Serialize;

    /// Returns the body for a rejection.
    fn render(&self, rejection: &Rejection) -> Self::Body;

    /// Returns the media type of the body.
    fn content_type(&self) -> &'static str {
        "application/json"
    }

    /// Returns the body for a rejection and its media type, where bodies have several. By default,
    /// they are what [`render`](Self::render) and [`content_type`](Self::content_type) return. The
    /// run time calls only this method, once for each rejection.
    fn render_with_type(&self, rejection: &Rejection) -> (Self::Body, &'static str) {
        (self.render(rejection), self.content_type())
    }
}

/// A rejection as an error; boxed, since it is large and rare.
pub type Rejected = Box<Rejection>;

/// A response that the framework makes before the handler runs, or when the handler fails.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Rejection {
    /// The kind.
    pub kind: RejectionKind,
    /// The status.
    pub status: StatusCode,
    /// One sentence for the caller, which never has a value of the request.
    pub message: Cow<'static, str>,
    /// The violations of the contract; empty for other kinds.
    pub violations: Vec<Violation>,
    /// The time to wait, if known.
    pub retry_after: Option<Duration>,
    /// The limit that the caller has used up, if that is the reason.
    pub rate_limit: Option<RateLimit>,
    /// The operation, if the route is known.
    pub operation: Option<&'static Operation>,
    pub(super) challenge: &'static str,
    pub(super) allow: Option<HeaderValue>,
}

/// The kinds of rejections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectionKind {
    /// 401: no credentials.
    MissingCredentials,
    /// 401: bad credentials.
    InvalidCredentials,
    /// 403: the credentials do not allow this.
    Forbidden,
    /// 404: no such path.
    UnknownRoute,
    /// 405: the path has other methods.
    MethodNotAllowed,
    /// 400: the head of the request breaks the rules of HTTP.
    MalformedHead,
    /// 400: parameters, and perhaps the body too, do not fit the contract.
    InvalidParameters,
    /// 400: the body does not fit the contract.
    InvalidBody,
    /// 431: the head is too large.
    HeadTooLarge,
    /// 408: the body does not arrive in time.
    RequestTimeout,
    /// 413: the body is too large.
    PayloadTooLarge,
    /// 415: the body is of a type that the operation does not take.
    UnsupportedMediaType,
    /// 409: a request with the same idempotency key is in progress.
    KeyInProgress,
    /// 422, or 409 if the contract lists that: the idempotency key was used for another request.
    KeyReused,
    /// 409: the request with this idempotency key was done, but its response was too large to be kept.
    ResponseNotKept,
    /// 429: the credentials are used too often.
    TooManyRequests,
    /// 503: credentials cannot be checked now, or there is no room for the request.
    Unavailable,
    /// 501: the operation is not written yet.
    NotImplemented,
    /// 500: the handler panicked, its response cannot be written, or a handwritten `RequestBody`
    /// returned no value and no violation.
    Internal,
}

impl RejectionKind {
    /// Returns the status of the kind.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::MissingCredentials | Self::InvalidCredentials => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::UnknownRoute => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::MalformedHead | Self::InvalidParameters | Self::InvalidBody => {
                StatusCode::BAD_REQUEST
            }
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::KeyInProgress | Self::ResponseNotKept => StatusCode::CONFLICT,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotImplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A violation of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The part of the request.
    pub location: Location,
    /// The parameter's name; empty for the body.
    pub name: String,
    /// The JSON pointer into the body or the parameter's value; empty for the whole.
    pub pointer: String,
    /// The rule that the value breaks, without the value itself.
    pub message: String,
}

impl Violation {
    pub(super) fn of(parameter: &Parameter, pointer: String, message: String) -> Self {
        Self {
            location: parameter.location,
            name: parameter.name.to_owned(),
            pointer,
            message,
        }
    }

    pub(super) fn of_body(pointer: String, message: String) -> Self {
        Self {
            location: Location::Body,
            name: String::new(),
            pointer,
            message,
        }
    }

    /// Returns name and pointer as one text: `page_size`, `/vms/0`, `filter/from`; empty for a
    /// whole body.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}{}", self.name, self.pointer)
    }
}

impl Rejection {
    /// Creates a rejection of this kind.
    #[must_use]
    pub fn new(kind: RejectionKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            status: kind.status(),
            message: message.into(),
            violations: Vec::new(),
            retry_after: None,
            rate_limit: None,
            operation: None,
            challenge: "",
            allow: None,
        }
    }

    /// Sets the time to wait.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    pub(super) fn with_violations(mut self, violations: Vec<Violation>) -> Self {
        self.violations = violations;
        self
    }

    /// Creates the rejection for a failed check of credentials.
    #[must_use]
    pub fn unauthorized(error: AuthError, challenge: &'static str) -> Rejected {
        let mut rejection = match error {
            AuthError::Missing => Self::new(
                RejectionKind::MissingCredentials,
                "credentials are missing: send those that the API asks for",
            ),
            // One message for all four causes: which of them it is would tell a stranger which
            // credentials exist.
            AuthError::Invalid => Self::new(
                RejectionKind::InvalidCredentials,
                "credentials are malformed, unknown, expired or revoked",
            ),
            AuthError::Forbidden(reason) => Self::new(RejectionKind::Forbidden, reason),
            AuthError::TooManyRequests(limit) => {
                let message = "too many requests: wait for the seconds in `Retry-After`";
                let mut rejection = Self::new(RejectionKind::TooManyRequests, message);
                rejection.retry_after = Some(limit.wait);
                rejection.rate_limit = Some(limit);
                rejection
            }
            AuthError::Unavailable(wait) => {
                let message = "credentials cannot be checked at the moment: try again later";
                let mut rejection = Self::new(RejectionKind::Unavailable, message);
                rejection.retry_after = wait;
                rejection
            }
        };
        rejection.challenge = challenge;
        Box::new(rejection)
    }

    /// Converts the rejection into a response with the body that `render` returns.
    pub(super) fn into_response<R: RenderRejection>(self, render: &R) -> Response {
        let (body, content_type) = render.render_with_type(&self);
        let mut response = response::json_or_empty(self.status, content_type, &body);
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED && !self.challenge.is_empty() {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static(self.challenge),
            );
        }
        if let Some(allow) = self.allow {
            headers.insert(header::ALLOW, allow);
        }
        if let Some(wait) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds(wait).into());
        }
        if let Some(limit) = self.rate_limit {
            limit.write(headers);
        }
        response
    }
}
