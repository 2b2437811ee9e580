//! Errors of calls: they keep the status, the headers and the contract's error body, and print no
//! secrets.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use reqwest::header::InvalidHeaderValue;

use super::call::Origin;
use super::misfit::Misfit;
use super::retry_after::retry_after;
use super::{InvalidArgument, ResponseValue, map};

/// The result of a call: the response, or why there is none. `E` is the body of the errors that the
/// contract lists.
pub type Result<T, E> = std::result::Result<ResponseValue<T>, Error<E>>;

/// Why a call failed. `E` is the body of the errors that the contract lists for the operation.
///
/// An error can be logged: [`Display`](fmt::Display) and [`Debug`] print no headers, no URLs and no
/// bytes of a body. `Debug` prints a typed error body, with its secret fields redacted.
#[non_exhaustive]
pub enum Error<E = ()> {
    /// The request was not sent: an argument is missing or does not fit the contract.
    InvalidRequest(String),
    /// There was no response, or none in time. The error does not contain the URL.
    Communication(reqwest::Error),
    /// An error response that the contract lists.
    ErrorResponse(Box<ResponseValue<E>>),
    /// A response whose body ended early.
    InterruptedResponse(Box<InterruptedResponse>),
    /// A listed response whose body has more bytes than the client reads into memory.
    OversizedResponse(Box<OversizedResponse>),
    /// A listed response whose body does not fit the contract.
    InvalidResponse(Box<InvalidResponse>),
    /// A response, success or error, that the contract does not list. Its body can still be read.
    UnexpectedResponse(Box<reqwest::Response>),
    /// A list that cannot be read to its end: the server repeats a page, or an item does not have
    /// the property after whose value the next page starts.
    Paging(String),
}

/// A response whose body ended early.
pub struct InterruptedResponse {
    status: StatusCode,
    headers: HeaderMap,
    source: reqwest::Error,
}

/// A listed response whose body has more bytes than the client reads into memory.
pub struct OversizedResponse {
    status: StatusCode,
    headers: HeaderMap,
    origin: Origin,
}

/// A listed response whose body does not fit the contract.
pub struct InvalidResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    error: serde_json::Error,
    misfit: Misfit,
}

impl InterruptedResponse {
    pub(super) fn new(status: StatusCode, headers: HeaderMap, source: reqwest::Error) -> Self {
        Self {
            status,
            headers,
            // The query may have a credential.
            source: source.without_url(),
        }
    }
}

impl OversizedResponse {
    pub(super) fn new(status: StatusCode, headers: HeaderMap, origin: Origin) -> Self {
        Self {
            status,
            headers,
            origin,
        }
    }

    /// Returns the most bytes that the client reads into memory.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.origin.limit
    }
}

impl InvalidResponse {
    pub(super) fn new(
        status: StatusCode,
        headers: HeaderMap,
        body: Bytes,
        error: serde_json::Error,
        operation: Option<&'static str>,
        check: fn(&[u8]) -> serde_json::Result<()>,
    ) -> Self {
        // Decoded again, now that it has failed, to find the part that does not fit.
        let misfit = Misfit::of(operation, &body, check);
        Self {
            status,
            headers,
            body,
            error,
            misfit,
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn into_parts(self) -> (StatusCode, HeaderMap, Misfit) {
        (self.status, self.headers, self.misfit)
    }

    /// Returns the part of the body that does not fit, and the rule that it breaks. Unlike
    /// [`error`](Self::error), it can be logged.
    #[must_use]
    pub fn misfit(&self) -> &Misfit {
        &self.misfit
    }

    /// Returns the body as it was received. Do not log it: it may have secrets.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Returns the error of decoding the body. Do not log it: its message may quote the body.
    #[must_use]
    pub fn error(&self) -> &serde_json::Error {
        &self.error
    }
}

impl<E> Error<E> {
    /// Returns the error of a response that the contract lists.
    #[must_use]
    pub fn listed(response: ResponseValue<E>) -> Self {
        Self::ErrorResponse(Box::new(response))
    }

    /// Returns the error of a response that the contract does not list.
    #[must_use]
    pub fn unlisted(response: reqwest::Response) -> Self {
        Self::UnexpectedResponse(Box::new(response))
    }

    /// Returns the status, if there was a response.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::InvalidRequest(_) | Self::Paging(_) => None,
            Self::Communication(error) => error.status(),
            Self::ErrorResponse(response) => Some(response.status()),
            Self::InterruptedResponse(response) => Some(response.status),
            Self::OversizedResponse(response) => Some(response.status),
            Self::InvalidResponse(response) => Some(response.status),
            Self::UnexpectedResponse(response) => Some(response.status()),
        }
    }

    /// Returns the headers, if there was a response.
    #[must_use]
    pub fn headers(&self) -> Option<&HeaderMap> {
        match self {
            Self::InvalidRequest(_) | Self::Paging(_) | Self::Communication(_) => None,
            Self::ErrorResponse(response) => Some(response.headers()),
            Self::InterruptedResponse(response) => Some(&response.headers),
            Self::OversizedResponse(response) => Some(&response.headers),
            Self::InvalidResponse(response) => Some(&response.headers),
            Self::UnexpectedResponse(response) => Some(response.headers()),
        }
    }

    /// Returns the error body, if the contract lists this error.
    #[must_use]
    pub fn body(&self) -> Option<&E> {
        match self {
            Self::ErrorResponse(response) => Some(response),
            _ => None,
        }
    }

    /// Returns the error body by value, if the contract lists this error.
    #[must_use]
    pub fn into_body(self) -> Option<E> {
        match self {
            Self::ErrorResponse(response) => Some(response.into_inner()),
            _ => None,
        }
    }

    /// Returns whether the same call may succeed later: the connection failed, the response ended
    /// early, or the status was 408, 429, 502, 503 or 504. It does not say whether the call is safe
    /// to repeat.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Communication(error) => !error.is_builder(),
            Self::InterruptedResponse(_) => true,
            _ => self.status().is_some_and(super::retry::is_transient),
        }
    }

    /// Returns whether the call took longer than its time-out, before or while its response arrived.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Communication(error) => error.is_timeout(),
            Self::InterruptedResponse(response) => response.source.is_timeout(),
            _ => false,
        }
    }

    /// Returns the pause that the header `Retry-After` of the response asks for. Returns `None`
    /// without a response, without that header, or if it is invalid. A date counts from the `Date`
    /// of the response.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self.headers()?)
    }

    /// Returns the error without its typed body, so that operations share one error type.
    #[must_use]
    pub fn into_untyped(self) -> Error {
        self.map_response(|response| map(response, drop))
    }

    /// Converts the response of an error that the contract lists. Other errors stay as they are.
    pub(super) fn map_response<F>(
        self,
        change: impl FnOnce(ResponseValue<E>) -> ResponseValue<F>,
    ) -> Error<F> {
        match self {
            Self::InvalidRequest(reason) => Error::InvalidRequest(reason),
            Self::Communication(error) => Error::Communication(error),
            Self::ErrorResponse(response) => Error::listed(change(*response)),
            Self::InterruptedResponse(response) => Error::InterruptedResponse(response),
            Self::OversizedResponse(response) => Error::OversizedResponse(response),
            Self::InvalidResponse(response) => Error::InvalidResponse(response),
            Self::UnexpectedResponse(response) => Error::UnexpectedResponse(response),
            Self::Paging(reason) => Error::Paging(reason),
        }
    }
}

/// Says where the body does not fit, and by which rule, without a value of the body.
impl fmt::Display for InvalidResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the response ({})", self.status)?;
        if let Some(operation) = self.misfit.operation() {
            write!(f, " of `{operation}`")?;
        }
        f.write_str(" does not fit the contract")?;
        let (line, column) = (self.error.line(), self.error.column());
        if line > 0 {
            write!(f, " at line {line} column {column} of its body")?;
        }
        match self.misfit.printed() {
            "" => write!(f, ": {}", self.misfit.rule()),
            pointer => write!(f, ": {pointer} {}", self.misfit.rule()),
        }
    }
}

impl<E> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRequest(reason) => write!(f, "the request was not sent: {reason}"),
            Self::Communication(error) if error.is_timeout() => {
                f.write_str("no response from the API in time")
            }
            Self::Communication(error) if error.is_connect() => {
                f.write_str("cannot connect to the API")
            }
            Self::Communication(_) => f.write_str("the connection to the API failed"),
            Self::ErrorResponse(response) => {
                write!(f, "the API responded with {}", response.status())
            }
            Self::InterruptedResponse(response) => {
                write!(f, "the response ({}) ended early", response.status)
            }
            Self::OversizedResponse(response) => {
                write!(f, "the response ({})", response.status)?;
                if let Some(operation) = response.origin.operation {
                    write!(f, " of `{operation}`")?;
                }
                write!(
                    f,
                    " has more than {} bytes; set a larger `response_limit` to read it",
                    response.origin.limit
                )
            }
            Self::InvalidResponse(response) => response.fmt(f),
            Self::UnexpectedResponse(response) => {
                write!(
                    f,
                    "the API responded with {}, which the contract does not list",
                    response.status()
                )
            }
            Self::Paging(reason) => write!(f, "the list cannot be read to its end: {reason}"),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRequest(reason) => f.debug_tuple("InvalidRequest").field(reason).finish(),
            Self::Communication(error) => f.debug_tuple("Communication").field(error).finish(),
            Self::ErrorResponse(response) => f
                .debug_struct("ErrorResponse")
                .field("status", &response.status())
                .field("body", &***response)
                .finish_non_exhaustive(),
            Self::InterruptedResponse(response) => f
                .debug_struct("InterruptedResponse")
                .field("status", &response.status)
                .field("source", &response.source)
                .finish_non_exhaustive(),
            Self::OversizedResponse(response) => f
                .debug_struct("OversizedResponse")
                .field("status", &response.status)
                .field("limit", &response.origin.limit)
                .finish_non_exhaustive(),
            Self::InvalidResponse(response) => f
                .debug_struct("InvalidResponse")
                .field("status", &response.status)
                .field("misfit", &response.misfit)
                .field("line", &response.error.line())
                .field("column", &response.error.column())
                .finish_non_exhaustive(),
            Self::UnexpectedResponse(response) => f
                .debug_struct("UnexpectedResponse")
                .field("status", &response.status())
                .finish_non_exhaustive(),
            Self::Paging(reason) => f.debug_tuple("Paging").field(reason).finish(),
        }
    }
}

impl<E: fmt::Debug> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Communication(error) => Some(error),
            Self::InterruptedResponse(response) => Some(&response.source),
            // The cause of an invalid response is left out: its text may quote the body.
            _ => None,
        }
    }
}

impl<E> From<reqwest::Error> for Error<E> {
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        if error.is_builder() {
            Self::InvalidRequest(reason_of(&error))
        } else {
            Self::Communication(error)
        }
    }
}

/// Returns the message of the innermost cause, since reqwest's own message is only that the request
/// could not be built.
fn reason_of(error: &reqwest::Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

impl<E> From<InvalidHeaderValue> for Error<E> {
    fn from(_: InvalidHeaderValue) -> Self {
        Self::InvalidRequest(
            "the value of a header has a character that headers cannot have".to_owned(),
        )
    }
}

impl<E> From<InvalidArgument> for Error<E> {
    fn from(error: InvalidArgument) -> Self {
        Self::InvalidRequest(error.to_string())
    }
}

impl<E> From<Infallible> for Error<E> {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
