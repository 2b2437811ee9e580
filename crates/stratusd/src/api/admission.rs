//! [`Admission`]: what a layer around the router grants a request, once the project of its caller is
//! known.

use std::fmt;
use std::sync::Arc;

use api_server::server::RequestHead;
use api_types::ProjectId;
use futures_util::future::BoxFuture;

/// What a request waits for beside other requests. A layer around the router puts it into the extensions
/// of the request, as [`Admitted`]; without one, no request waits.
///
/// Everything is counted for the project of the token. Before the token is checked, nobody knows whose
/// request it is: its path may name any project, and a caller can invent tokens.
pub trait Admission: Send + Sync {
    /// Waits for the request's place among those in progress.
    fn admit<'a>(&'a self, project: &'a ProjectId) -> BoxFuture<'a, Result<(), Overload>>;

    /// Waits for a turn of the project to keep a processor busy. The request may go on in another thread.
    fn turn(&self) -> BoxFuture<'_, Result<(), Overload>>;

    /// Waits for a processor, in that turn.
    fn processor(&self) -> BoxFuture<'_, Result<(), Overload>>;

    /// Gives the turn and the processor back. The request may go on in another thread.
    fn rest(&self) -> BoxFuture<'_, ()>;
}

/// The error of a request that has waited too long for what it needs.
#[derive(Debug, Clone, Copy)]
pub struct Overload;

/// The [`Admission`] of a request, in its extensions.
#[derive(Clone)]
pub struct Admitted(pub Arc<dyn Admission>);

impl Admitted {
    /// Returns the admission of the current request, if it has one.
    pub(super) fn current() -> Option<Self> {
        let head = RequestHead::current()?;
        head.extensions().get::<Self>().cloned()
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").finish_non_exhaustive()
    }
}
