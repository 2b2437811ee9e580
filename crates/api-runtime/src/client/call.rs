//! The call of an operation: the transport, and what its errors and limits need to know of the
//! operation.

use std::ops::Deref;

use reqwest::{RequestBuilder, Response};

use super::{Error, Security, Transport};

/// The transport of a client, for the calls of one operation.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    transport: &'a Transport,
    operation: &'static str,
}

/// What reading a response needs to know of its call. It travels with the response, in the
/// response's extensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// The method of the client that made the call.
    pub(super) operation: Option<&'static str>,
    /// The most bytes that a body which is read into memory may have.
    pub(super) limit: usize,
}

/// The most bytes of a body that is read into memory, unless the client sets another number.
pub(super) const MOST_BYTES: usize = 64 << 20;

impl Default for Origin {
    fn default() -> Self {
        Self {
            operation: None,
            limit: MOST_BYTES,
        }
    }
}

impl Transport {
    /// Returns the transport for the calls of an operation, which errors name by its method.
    #[must_use]
    pub fn call(&self, operation: &'static str) -> Call<'_> {
        Call {
            transport: self,
            operation,
        }
    }
}

impl Call<'_> {
    /// Sends the request of the operation, as [`Transport::send`] does.
    pub async fn send<E>(
        &self,
        request: RequestBuilder,
        security: Security,
    ) -> Result<Response, Error<E>> {
        let mut response = self.transport.send(request, security).await?;
        if let Some(origin) = response.extensions_mut().get_mut::<Origin>() {
            origin.operation = Some(self.operation);
        }
        Ok(response)
    }
}

impl Deref for Call<'_> {
    type Target = Transport;

    fn deref(&self) -> &Transport {
        self.transport
    }
}
