//! Functions of the program that run around every attempt of a call.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::{Request, Response};

use super::BoxError;

/// The future of a function that runs around an attempt. Its error is that of
/// [`Next::run`], or one of its own, which ends the call.
pub type Around<'n> = Pin<Box<dyn Future<Output = Attempt> + Send + 'n>>;

/// The response to an attempt, or why there is none: a [`reqwest::Error`], or an error of the
/// program.
pub(super) type Attempt = Result<Response, BoxError>;

/// A function that sends a request, or responds in place of the API, as
/// [`Config::around`](super::Config::around) describes it.
pub(super) type Run = Arc<dyn for<'n> Fn(Request, Next<'n>) -> Around<'n> + Send + Sync>;

/// The rest of an attempt: sending the request.
pub struct Next<'n>(&'n reqwest::Client);

impl<'n> Next<'n> {
    pub(super) fn new(http: &'n reqwest::Client) -> Self {
        Self(http)
    }

    /// Sends the request, and returns the head of the response.
    ///
    /// # Errors
    ///
    /// A [`reqwest::Error`] if there is no response, or none in time. Return it as it is, so that
    /// the call can be repeated.
    pub async fn run(self, request: Request) -> Result<Response, Box<dyn Error + Send + Sync>> {
        Ok(self.0.execute(request).await?)
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}
