//! What an expectation does with a request: the checks by which it accepts one, and its response.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

/// The future of a response of an operation.
pub(super) type Responding<T, E> = BoxFuture<'static, Result<T, E>>;

/// A check of a request.
pub(super) type Check<R> = Arc<dyn Fn(&R) -> bool + Send + Sync>;

/// A function that begins the response to a request, or returns `None` if there is none.
pub(super) type Respond<R, T, E> = Arc<dyn Fn(R) -> Option<Responding<T, E>> + Send + Sync>;

/// What an expectation does with a request of its operation.
pub(super) struct Behaviour<R, T, E> {
    pub(super) checks: Vec<Check<R>>,
    /// The time before the response begins.
    pub(super) delay: Duration,
    pub(super) respond: Respond<R, T, E>,
}

impl<R, T, E> Behaviour<R, T, E> {
    /// Returns whether all checks accept a request.
    pub(super) fn accepts(&self, request: &R) -> bool {
        self.checks.iter().all(|check| check(request))
    }

    /// Responds to a request after the delay, or returns `None` if there is no response.
    pub(super) async fn respond(&self, request: R) -> Option<Result<T, E>> {
        // A timer of zero would still wait for the next millisecond.
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        match (self.respond)(request) {
            Some(responding) => Some(responding.await),
            None => None,
        }
    }
}
