//! The interface between the store and each database.

use futures_util::future::BoxFuture;

use super::job::Job;
use super::{Reader, StorageError};

/// A database that a store runs on.
pub(super) trait Backend: Send + Sync + 'static {
    /// Returns a connection whose statements each read the latest committed state.
    fn reader(&self) -> BoxFuture<'_, Result<Reader, StorageError>>;
    /// Returns a connection whose statements all read the same state.
    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>>;
    /// Runs a job in a transaction, commits, and has the job send its result. Jobs whose caller is
    /// gone are dropped.
    fn submit(&self, job: Box<dyn Job>);
    /// Finishes all submitted jobs and closes all connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}
