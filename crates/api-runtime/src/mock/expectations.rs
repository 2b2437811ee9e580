//! The side of the test: states expectations, serves them, and verifies them at the end.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::credential::Credential;
use super::errors::Errors;
use super::expectation::Expectation;
use super::received::Received;
use super::responder::Responder;
use super::state::Shared;
use super::unmet::Unmet;
use crate::server::{AuthError, Operation, RenderRejection};

/// The expectations of a mock, which are verified when they are dropped.
#[derive(Debug, Default)]
pub struct Expectations {
    shared: Arc<Shared>,
    /// Dropping a sender ends its server.
    servers: Mutex<Vec<oneshot::Sender<Infallible>>>,
    /// Whether a failed verification was reported.
    is_reported: AtomicBool,
}

impl Expectations {
    /// Creates a mock without expectations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins an expectation of an operation.
    pub fn of<R, T, E>(&self, operation: &'static Operation) -> Expectation<'_, R, T, E> {
        Expectation::new(&self.shared, operation)
    }

    /// Returns what the server asks.
    #[must_use]
    pub fn responder(&self) -> Responder {
        Responder::new(&self.shared)
    }

    /// Returns a renderer of rejections that remembers them.
    #[must_use]
    pub fn errors<R: RenderRejection>(&self, errors: R) -> Errors<R::Body> {
        Errors::new(&self.shared, errors)
    }

    /// Serves a router on a free port of 127.0.0.1 and returns its URL. The server takes no more
    /// connections once the expectations are dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if no port can be bound.
    pub async fn serve(&self, router: Router) -> io::Result<String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (sender, dropped) = oneshot::channel::<Infallible>();
        let end = async move {
            // A value cannot be sent, so this is the end of the sender.
            let _ = dropped.await;
        };
        let server = axum::serve(listener, router).with_graceful_shutdown(end);
        tokio::spawn(server.into_future());
        let servers = self.servers.lock();
        servers.unwrap_or_else(PoisonError::into_inner).push(sender);
        Ok(format!("http://{address}"))
    }

    /// Sets the check of credentials. Without one, all are accepted that have the form of their
    /// scheme.
    pub fn check_credentials(
        &self,
        check: impl Fn(&[Credential], &'static Operation) -> Result<(), AuthError>
        + Send
        + Sync
        + 'static,
    ) {
        self.shared.set_credentials(Arc::new(check));
    }

    /// Lets the verification succeed in spite of requests that have met no expectation.
    pub fn allow_unexpected(&self) {
        self.shared.allow_unexpected();
    }

    /// Returns the requests that were received, in their order; the first 1,000, if there are more.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.shared.received()
    }

    /// Returns what is not as expected so far.
    ///
    /// # Errors
    ///
    /// Returns an error if an expectation has had another number of requests than it says, or if a
    /// request has met no expectation.
    pub fn check(&self) -> Result<(), Unmet> {
        self.shared.check()
    }

    /// Verifies the expectations, as dropping them does.
    ///
    /// # Panics
    ///
    /// If [`check`](Self::check) returns an error.
    #[track_caller]
    pub fn verify(&self) {
        if let Err(unmet) = self.check() {
            self.is_reported.store(true, Ordering::Relaxed);
            panic!("{unmet}");
        }
    }
}

impl Drop for Expectations {
    fn drop(&mut self) {
        if self.is_reported.load(Ordering::Relaxed) {
            return;
        }
        if let Err(unmet) = self.check() {
            // A second panic would abort the tests, and what is missing here is often why the first
            // one came.
            if thread::panicking() {
                eprintln!("{unmet}");
            } else {
                panic!("{unmet}");
            }
        }
    }
}
