//! The call of an operation: the transport, and what its errors and limits need to know of the
//! operation.

mod argument;

use std::ops::Deref;

use reqwest::RequestBuilder;

use super::traces::Operation;
use super::{Error, Received, Security, Transport};

/// The transport of a client, for the calls of one operation.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    transport: &'a Transport,
    operation: Operation,
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
