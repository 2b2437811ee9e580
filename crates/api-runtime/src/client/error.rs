//! Errors of calls: they keep the status, the headers and the contract's error body, and print no
//! secrets.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use reqwest::header::InvalidHeaderValue;

use super::call::{Origin, Received};
use super::misfit::Misfit;
use super::retry_after::retry_after;
use super::secret_source::BoxError;
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
    InvalidRequest(InvalidArgument),
    /// The request was not sent: the program's [source of a secret](super::SecretSource) failed, or
    /// took longer than the time-out of the call. The error is that of the source.
    NoCredential(Box<OwnError>),
    /// The program's function [around every attempt](super::Config::around) failed with an error of
    /// its own. The call is not repeated.
    Around(Box<OwnError>),
    /// There was no response, or none in time.
    Communication(Box<NoResponse>),
    /// An error response that the contract lists.
    ErrorResponse(Box<ResponseValue<E>>),
    /// A response whose body ended early.
    InterruptedResponse(Box<InterruptedResponse>),
    /// A listed response whose body has more bytes than the client reads into memory.
    OversizedResponse(Box<OversizedResponse>),
    /// An event of an untyped stream that has more bytes than `limit`. The stream goes on with the
    /// next one.
    #[non_exhaustive]
    OversizedEvent {
        /// The most bytes that an event may have.
        limit: usize,
        /// The id of the operation, if the stream belongs to a call.
        operation: Option<&'static str>,
    },
    /// A listed response whose body does not fit the contract.
    InvalidResponse(Box<InvalidResponse>),
    /// A response, success or error, that the contract does not list. Its body can still be read.
    UnexpectedResponse(Box<reqwest::Response>),
    /// A list that cannot be read to its end: the server repeats a page, or an item does not have
    /// the property after whose value the next page starts.
    #[non_exhaustive]
    Paging {
        /// Why not.
        reason: String,
        /// The id of the operation.
        operation: &'static str,
    },
}

/// The error of a function of the program, which the client has called.
pub struct OwnError {
    operation: Option<&'static str>,
    source: BoxError,
}

/// Why there was no response.
pub struct NoResponse {
    operation: Option<&'static str>,
    source: reqwest::Error,
}

/// A response whose body ended early.
pub struct InterruptedResponse {
    status: StatusCode,
    headers: HeaderMap,
    operation: Option<&'static str>,
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

impl OwnError {
    fn new(source: BoxError) -> Box<Self> {
        Box::new(Self {
            operation: None,
            source,
        })
    }

    /// Returns the error of the function.
    #[must_use]
    pub fn error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.source
    }

    /// Returns the error of the function by value.
    #[must_use]
    pub fn into_error(self) -> Box<dyn std::error::Error + Send + Sync> {
        self.source
    }
}

impl NoResponse {
    /// Returns the error of the HTTP client. It does not contain the URL.
    #[must_use]
    pub fn error(&self) -> &reqwest::Error {
        &self.source
    }
}

impl InterruptedResponse {
    pub(super) fn new(
        status: StatusCode,
        headers: HeaderMap,
        operation: Option<&'static str>,
        source: reqwest::Error,
    ) -> Self {
        Self {
            status,
            headers,
            operation,
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
    pub fn unlisted(response: Received) -> Self {
        let (mut response, origin) = response.into_parts();
        response.extensions_mut().insert(origin);
        Self::UnexpectedResponse(Box::new(response))
    }

    /// Returns the error of a call whose source of a secret has failed.
    pub(super) fn no_credential(source: BoxError) -> Self {
        Self::NoCredential(OwnError::new(source))
    }

    /// Returns the error of a call whose last attempt has failed.
    pub(super) fn of_attempt(error: BoxError) -> Self {
        match error.downcast::<reqwest::Error>() {
            Ok(error) => (*error).into(),
            Err(own) => Self::Around(OwnError::new(own)),
        }
    }

    /// Returns the status, if there was a response.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::InvalidRequest(_)
            | Self::NoCredential(_)
            | Self::Around(_)
            | Self::OversizedEvent { .. }
            | Self::Paging { .. } => None,
            Self::Communication(error) => error.source.status(),
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
            Self::InvalidRequest(_)
            | Self::NoCredential(_)
            | Self::Around(_)
            | Self::OversizedEvent { .. }
            | Self::Paging { .. }
            | Self::Communication(_) => None,
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

    /// Returns the body as it was received, if the contract lists this response, and its body has
    /// arrived. Do not log it: it may have secrets.
    ///
    /// An error [without its typed body](Self::into_untyped) still has it.
    #[must_use]
    pub fn received(&self) -> Option<&Bytes> {
        match self {
            Self::ErrorResponse(response) => response.received(),
            Self::InvalidResponse(response) => Some(&response.body),
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
            Self::Communication(error) => !error.source.is_builder(),
            Self::InterruptedResponse(_) => true,
            _ => self.status().is_some_and(super::retry::is_transient),
        }
    }

    /// Returns whether the call took longer than its time-out, before or while its response arrived.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::NoCredential(error) => error.source.is::<tokio::time::error::Elapsed>(),
            Self::Communication(error) => error.source.is_timeout(),
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

    /// Returns the id of the operation in the contract, such as `pet_view`. Returns `None` if the
    /// error belongs to no call.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        match self {
            Self::InvalidRequest(reason) => reason.operation(),
            Self::NoCredential(error) | Self::Around(error) => error.operation,
            Self::Communication(error) => error.operation,
            Self::ErrorResponse(response) => response.operation(),
            Self::InterruptedResponse(response) => response.operation,
            Self::OversizedResponse(response) => Some(response.origin.operation),
            Self::InvalidResponse(response) => response.misfit.operation(),
            Self::UnexpectedResponse(response) => {
                let origin = response.extensions().get::<Origin>();
                origin.map(|origin| origin.operation)
            }
            Self::OversizedEvent { operation, .. } => *operation,
            Self::Paging { operation, .. } => Some(operation),
        }
    }

    /// Sets the operation of an error that knows none.
    pub(super) fn of(mut self, operation: Option<&'static str>) -> Self {
        match (&mut self, operation) {
            (Self::Communication(error), _) => error.operation = operation,
            (Self::NoCredential(error) | Self::Around(error), _) => error.operation = operation,
            (Self::InvalidRequest(reason), Some(operation)) => {
                *reason = reason.clone().of(operation);
            }
            _ => {}
        }
        self
    }

    /// Returns the operation in words after a preposition and a blank, or nothing.
    fn words(&self, preposition: &str) -> String {
        let operation = self.operation();
        operation.map_or_else(String::new, |id| format!(" {preposition} `{id}`"))
    }

    /// Returns the error without its typed body, so that operations share one error type. What was
    /// [received](Self::received) stays.
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
            Self::NoCredential(error) => Error::NoCredential(error),
            Self::Around(error) => Error::Around(error),
            Self::Communication(error) => Error::Communication(error),
            Self::ErrorResponse(response) => Error::listed(change(*response)),
            Self::InterruptedResponse(response) => Error::InterruptedResponse(response),
            Self::OversizedResponse(response) => Error::OversizedResponse(response),
            Self::OversizedEvent { limit, operation } => Error::OversizedEvent { limit, operation },
            Self::InvalidResponse(response) => Error::InvalidResponse(response),
            Self::UnexpectedResponse(response) => Error::UnexpectedResponse(response),
            Self::Paging { reason, operation } => Error::Paging { reason, operation },
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
            Self::InvalidRequest(reason) => {
                write!(f, "the request{} was not sent: {reason}", self.words("of"))
            }
            Self::NoCredential(_) => write!(
                f,
                "the request{} was not sent: the source of its credential failed",
                self.words("of")
            ),
            Self::Around(_) => write!(
                f,
                "the call{} failed: the function around its attempts returned an error",
                self.words("of")
            ),
            Self::Communication(error) if error.source.is_timeout() => {
                write!(f, "no response from the API{} in time", self.words("to"))
            }
            Self::Communication(error) if error.source.is_connect() => {
                write!(f, "cannot connect to the API{}", self.words("for"))
            }
            Self::Communication(_) => {
                write!(
                    f,
                    "the connection to the API failed{}",
                    self.words("during")
                )
            }
            Self::ErrorResponse(response) => {
                let status = response.status();
                write!(f, "the API responded{} with {status}", self.words("to"))
            }
            Self::InterruptedResponse(response) => write!(
                f,
                "the response ({}){} ended early",
                response.status,
                self.words("of")
            ),
            Self::OversizedResponse(response) => write!(
                f,
                "the response ({}){} has more than {} bytes; set a larger `response_limit` to read it",
                response.status,
                self.words("of"),
                response.origin.limit
            ),
            Self::OversizedEvent { limit, .. } => write!(
                f,
                "an event{} has more than {limit} bytes; set a larger `max_item_bytes` to read it",
                self.words("of")
            ),
            Self::InvalidResponse(response) => response.fmt(f),
            Self::UnexpectedResponse(response) => {
                write!(
                    f,
                    "the API responded{} with {}, which the contract does not list",
                    self.words("to"),
                    response.status()
                )
            }
            Self::Paging { reason, .. } => write!(
                f,
                "the list{} cannot be read to its end: {reason}",
                self.words("of")
            ),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRequest(reason) => f.debug_tuple("InvalidRequest").field(reason).finish(),
            Self::NoCredential(error) => f.debug_tuple("NoCredential").field(error).finish(),
            Self::Around(error) => f.debug_tuple("Around").field(error).finish(),
            Self::Communication(error) => f
                .debug_struct("Communication")
                .field("operation", &error.operation)
                .field("source", &error.source)
                .finish(),
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
            Self::OversizedEvent { limit, operation } => f
                .debug_struct("OversizedEvent")
                .field("limit", limit)
                .field("operation", operation)
                .finish(),
            Self::Paging { reason, operation } => f
                .debug_struct("Paging")
                .field("reason", reason)
                .field("operation", operation)
                .finish(),
        }
    }
}

/// Prints no error of the program, which may have secrets.
impl fmt::Debug for OwnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnError")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

impl<E: fmt::Debug> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoCredential(error) | Self::Around(error) => Some(&*error.source),
            Self::Communication(error) => Some(&error.source),
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
            Self::InvalidRequest(InvalidArgument::new(reason_of(&error)))
        } else {
            Self::Communication(Box::new(NoResponse {
                operation: None,
                source: error,
            }))
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
        Self::InvalidRequest(InvalidArgument::new(
            "the value of a header has a character that headers cannot have",
        ))
    }
}

impl<E> From<InvalidArgument> for Error<E> {
    fn from(error: InvalidArgument) -> Self {
        Self::InvalidRequest(error)
    }
}

impl<E> From<Infallible> for Error<E> {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
