//! What the framework refuses by itself, and the one hook that puts it into the contract's words.

use std::borrow::Cow;
use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use super::credentials::AuthError;
use super::operation::{Location, Operation, Parameter};
use super::response;
use axum::response::Response;

/// Turns a [`Refusal`] into the contract's error body. Status and headers are set around it.
pub trait Refuse: Send + Sync + 'static {
    /// The contract's error.
    type Body: Serialize;

    /// Says the refusal in the contract's words.
    fn refuse(&self, refusal: &Refusal) -> Self::Body;

    /// Media type of the body.
    fn content_type(&self) -> &'static str {
        "application/json"
    }
}

/// A refusal on its way out; boxed, since it is large and seldom.
pub type Refused = Box<Refusal>;

/// Why the framework does not let a request through, or how a handler failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// The status.
    pub status: StatusCode,
    /// One sentence for the caller; never a value of the request.
    pub message: Cow<'static, str>,
    /// What does not fit the contract; empty for other kinds.
    pub violations: Vec<Violation>,
    /// How long to wait, if known.
    pub retry_after: Option<Duration>,
    /// The operation, if the route is known.
    pub operation: Option<&'static Operation>,
    pub(super) challenge: &'static str,
    pub(super) allow: Option<HeaderValue>,
}

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalKind {
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
    /// 400: parameters, and perhaps the body too, do not fit the contract.
    InvalidParameters,
    /// 400: the body does not fit the contract.
    InvalidBody,
    /// 408: the body does not arrive in time.
    RequestTimeout,
    /// 413: the body is too large.
    PayloadTooLarge,
    /// 415: the body is of a type that the operation does not take.
    UnsupportedMediaType,
    /// 429: the credentials are used too often.
    TooManyRequests,
    /// 503: credentials cannot be checked now.
    Unavailable,
    /// 500: the handler panicked, or its answer cannot be written.
    Internal,
}

impl RefusalKind {
    /// The status that goes with it.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::MissingCredentials | Self::InvalidCredentials => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::UnknownRoute => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::InvalidParameters | Self::InvalidBody => StatusCode::BAD_REQUEST,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// One thing that does not fit the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where.
    pub location: Location,
    /// The parameter's name; empty for the body.
    pub name: String,
    /// JSON pointer into the body or the parameter's value; empty for the whole.
    pub pointer: String,
    /// What is wrong; never the value itself.
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

    /// The place in one text: `page_size`, `/vms/0`, `filter/from`; empty for a whole body.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}{}", self.name, self.pointer)
    }
}

impl Refusal {
    /// A refusal of this kind.
    #[must_use]
    pub fn new(kind: RefusalKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            status: kind.status(),
            message: message.into(),
            violations: Vec::new(),
            retry_after: None,
            operation: None,
            challenge: "",
            allow: None,
        }
    }

    pub(super) fn with_violations(mut self, violations: Vec<Violation>) -> Self {
        self.violations = violations;
        self
    }

    /// What a failed check of credentials means for an operation.
    #[must_use]
    pub fn unauthorized(error: AuthError, challenge: &'static str) -> Refused {
        let mut refusal = match error {
            AuthError::Missing => Self::new(
                RefusalKind::MissingCredentials,
                "credentials are missing: send those that the API asks for",
            ),
            AuthError::Invalid => Self::new(
                RefusalKind::InvalidCredentials,
                "credentials are malformed, unknown, expired or revoked",
            ),
            AuthError::Forbidden(reason) => Self::new(RefusalKind::Forbidden, reason),
            AuthError::TooManyRequests(wait) => {
                let message = "too many requests: wait for the seconds in `Retry-After`";
                let mut refusal = Self::new(RefusalKind::TooManyRequests, message);
                refusal.retry_after = Some(wait);
                refusal
            }
            AuthError::Unavailable(wait) => {
                let message = "credentials cannot be checked at the moment: try again later";
                let mut refusal = Self::new(RefusalKind::Unavailable, message);
                refusal.retry_after = wait;
                refusal
            }
        };
        refusal.challenge = challenge;
        Box::new(refusal)
    }

    /// The answer, its body said by `refuse`.
    pub(super) fn into_response<R: Refuse>(self, refuse: &R) -> Response {
        let body = refuse.refuse(&self);
        let mut response = response::json_or_empty(self.status, refuse.content_type(), &body);
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
            // Rounded up: whoever comes back before the time is refused again.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, seconds.max(1).into());
        }
        response
    }
}
