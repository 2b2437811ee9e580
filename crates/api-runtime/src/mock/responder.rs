//! The side of the server: finds the expectation of a request.

use std::fmt;
use std::sync::Arc;

use super::behaviour::Behaviour;
use super::credential::Credential;
use super::received::Received;
use super::state::Shared;
use crate::server::{AuthError, Operation, not_implemented};

/// Decides the response to each request, for the generated implementation of the server's traits.
#[derive(Debug, Clone)]
pub struct Responder(Arc<Shared>);

impl Responder {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }

    /// Responds to a request as the first expectation does that accepts it, or ends it with 501.
    pub async fn respond<R, T, E>(&self, operation: &'static Operation, request: R) -> Result<T, E>
    where
        R: fmt::Debug + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        match self.chosen(operation, &request) {
            Some(behaviour) => match behaviour.respond(request).await {
                Some(response) => response,
                None => not_implemented().await,
            },
            None => not_implemented().await,
        }
    }

    /// Returns the behaviour of the expectation that a request is for, and counts the request. The
    /// checks of the test run before anything is locked.
    fn chosen<R, T, E>(
        &self,
        operation: &'static Operation,
        request: &R,
    ) -> Option<Arc<Behaviour<R, T, E>>>
    where
        R: fmt::Debug + 'static,
        T: 'static,
        E: 'static,
    {
        let mut accepting = self.0.of::<Behaviour<R, T, E>>(operation);
        accepting.retain(|(_, behaviour)| behaviour.accepts(request));
        let positions: Vec<usize> = accepting.iter().map(|(at, _)| *at).collect();
        let chosen = self.0.take(&positions, Received::new(operation, request))?;
        let behaviour = accepting.into_iter().find(|(at, _)| *at == chosen);
        behaviour.map(|(_, behaviour)| behaviour)
    }

    /// Accepts the credentials of a request, or what the check of the test says about them.
    ///
    /// # Errors
    ///
    /// Returns the error of that check.
    pub fn authenticate(
        &self,
        credentials: &[Credential],
        operation: &'static Operation,
    ) -> Result<(), AuthError> {
        match self.0.credentials() {
            Some(check) => check(credentials, operation),
            None => Ok(()),
        }
    }
}
