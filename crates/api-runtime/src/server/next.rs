//! The rest of the router, as [`Config::around`](super::Config::around) runs it.

use std::fmt;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;

use super::route::RouteResult;

/// A function that runs the rest of the router, or rejects the request.
pub(super) type Around =
    Arc<dyn for<'n> Fn(Request, Next<'n>) -> BoxFuture<'n, RouteResult> + Send + Sync>;

/// The rest of the router: credentials, parameters, body and handler.
pub struct Next<'n>(Box<dyn FnOnce(Request) -> BoxFuture<'n, Response> + Send + 'n>);

impl<'n> Next<'n> {
    pub(super) fn new(run: impl FnOnce(Request) -> BoxFuture<'n, Response> + Send + 'n) -> Self {
        Self(Box::new(run))
    }

    /// Runs the rest of the router.
    pub async fn run(self, request: Request) -> Response {
        (self.0)(request).await
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}
