//! The call of an operation: the transport, and what its errors and limits need to know of the
//! operation.

use std::fmt;
use std::ops::Deref;

use reqwest::{RequestBuilder, Response};

use super::traces::Operation;
use super::{Error, Security, Transport};

/// The transport of a client, for the calls of one operation.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    transport: &'a Transport,
    operation: Operation,
}

/// The response to a call, whose body is still to be read.
///
/// It derefs to reqwest's response. What reading the body needs to know of the call is beside it and
/// not in its extensions, which would allocate for every call.
pub struct Received {
    response: Response,
    origin: Origin,
}

impl Received {
    pub(super) fn new(response: Response, origin: Origin) -> Self {
        Self { response, origin }
    }

    pub(super) fn into_parts(self) -> (Response, Origin) {
        (self.response, self.origin)
    }
}

impl Deref for Received {
    type Target = Response;

    fn deref(&self) -> &Response {
        &self.response
    }
}

/// Prints no headers, which may have secrets.
impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("operation", &self.origin.operation)
            .field("status", &self.response.status())
            .finish_non_exhaustive()
    }
}

/// What reading a response needs to know of its call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// The id of the operation.
    pub(super) operation: &'static str,
    /// The most bytes that a body which is read into memory may have.
    pub(super) limit: usize,
}

impl Transport {
    /// Returns the transport for the calls of an operation, whose errors and spans name it by its id
    /// and the template of its path.
    #[must_use]
    pub fn call(&self, id: &'static str, path: &'static str) -> Call<'_> {
        Call {
            transport: self,
            operation: Operation { id, path },
        }
    }
}

impl Call<'_> {
    /// Returns the path template of the operation.
    pub(super) fn path(&self) -> &'static str {
        self.operation.path
    }

    /// Returns the id of the operation.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.operation.id
    }

    /// Sends the request of the operation, and returns the head of its response.
    ///
    /// The request gets the client's headers unless it has them, the client's time-out, and the
    /// credentials of the first alternative of `security` whose credentials are all set. It is
    /// repeated as [`Retries`](super::Retries) says. All attempts are one call, and so one span.
    pub async fn send<E>(
        &self,
        request: RequestBuilder,
        security: Security,
    ) -> Result<Received, Error<E>> {
        self.transport.send(self.operation, request, security).await
    }
}

impl Deref for Call<'_> {
    type Target = Transport;

    fn deref(&self) -> &Transport {
        self.transport
    }
}
