//! Errors of calls: they keep the status, the headers and the contract's error body, and print no
//! secrets.

mod cause;
mod print;

pub use cause::{InterruptedResponse, InvalidResponse, NoResponse, OversizedResponse, OwnError};

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use reqwest::header::InvalidHeaderValue;

use super::received::Origin;
use super::retry::is_temporary;
use super::retry_after::retry_after;
use super::{BoxError, InvalidArgument, Received, ResponseValue, map};

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
        /// The maximum number of bytes that an event may have.
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
        // The variant holds a plain response, so the operation is kept in its extensions.
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
    /// early, or the status was 408, 429, 502, 503 or 504, or 409 with `Retry-After`. It does not say
    /// whether the call is safe to repeat.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Communication(error) => !error.source.is_builder(),
            Self::InterruptedResponse(_) => true,
            _ => {
                let wait = self.retry_after();
                self.status()
                    .is_some_and(|status| is_temporary(status, wait))
            }
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
