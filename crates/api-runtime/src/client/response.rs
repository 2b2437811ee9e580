//! [`ResponseValue`]: a response and its value.
//!
//! It is our own, since progenitor's has no place for the operation, which errors name.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

/// A response: its value, status and headers. It derefs to its value.
pub struct ResponseValue<T> {
    value: T,
    status: StatusCode,
    headers: HeaderMap,
    operation: Option<&'static str>,
    received: Option<Bytes>,
}

impl<T> ResponseValue<T> {
    /// Creates a response that belongs to no call.
    #[must_use]
    pub fn new(value: T, status: StatusCode, headers: HeaderMap) -> Self {
        Self {
            value,
            status,
            headers,
            operation: None,
            received: None,
        }
    }

    /// Sets the operation that the response belongs to.
    pub(super) fn of(mut self, operation: Option<&'static str>) -> Self {
        self.operation = operation;
        self
    }

    /// Keeps the body as it was received, unless the status is a success: only errors are read
    /// again, and successes may be large.
    pub(super) fn keep(mut self, body: Bytes) -> Self {
        self.received = (!self.status.is_success()).then_some(body);
        self
    }

    /// Returns the body as it was received, if the status is no success and the body is a value.
    pub(super) fn received(&self) -> Option<&Bytes> {
        self.received.as_ref()
    }

    /// Returns the value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the id of the operation in the contract, such as `pet_view`, if the response belongs
    /// to a call.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.operation
    }

    /// Converts the value with `change`. The rest stays.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> ResponseValue<U> {
        ResponseValue {
            value: change(self.value),
            status: self.status,
            headers: self.headers,
            operation: self.operation,
            received: self.received,
        }
    }
}

impl<T> Deref for ResponseValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for ResponseValue<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> AsRef<T> for ResponseValue<T> {
    fn as_ref(&self) -> &T {
        &self.value
    }
}

/// Prints the value, and no headers, which may have secrets.
impl<T: fmt::Debug> fmt::Debug for ResponseValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseValue")
            .field("operation", &self.operation)
            .field("status", &self.status)
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}

/// Converts the value of a response with `change`. The status and the headers stay.
pub fn map<T, U>(response: ResponseValue<T>, change: impl FnOnce(T) -> U) -> ResponseValue<U> {
    response.map(change)
}
