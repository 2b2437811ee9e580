//! What an error of a call keeps of its cause.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::super::BoxError;
use super::super::misfit::Misfit;
use super::super::received::Origin;

/// The error of a function of the program, which the client has called.
pub struct OwnError {
    pub(super) operation: Option<&'static str>,
    pub(super) source: BoxError,
}

/// Why there was no response.
pub struct NoResponse {
    pub(super) operation: Option<&'static str>,
    pub(super) source: reqwest::Error,
}

/// A response whose body ended early.
pub struct InterruptedResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) operation: Option<&'static str>,
    pub(super) source: reqwest::Error,
}

/// A listed response whose body has more bytes than the client reads into memory.
pub struct OversizedResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) origin: Origin,
}

/// A listed response whose body does not fit the contract.
pub struct InvalidResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) error: serde_json::Error,
    pub(super) misfit: Misfit,
}

impl OwnError {
    pub(super) fn new(source: BoxError) -> Box<Self> {
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
    pub(in super::super) fn new(
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
    pub(in super::super) fn new(status: StatusCode, headers: HeaderMap, origin: Origin) -> Self {
        Self {
            status,
            headers,
            origin,
        }
    }

    /// Returns the maximum number of bytes that the client reads into memory.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.origin.limit
    }
}

impl InvalidResponse {
    pub(in super::super) fn new(
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

    /// Returns the error of a body whose misfit is known already.
    pub(in super::super) fn of_misfit(
        (status, headers): (StatusCode, HeaderMap),
        body: Bytes,
        error: serde_json::Error,
        misfit: Misfit,
    ) -> Self {
        Self {
            status,
            headers,
            body,
            error,
            misfit,
        }
    }

    pub(in super::super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(in super::super) fn into_parts(self) -> (StatusCode, HeaderMap, Misfit) {
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

/// Prints no error of the program, which may have secrets.
impl fmt::Debug for OwnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnError")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}
