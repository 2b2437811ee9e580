//! The interface between the store and each database.

use futures_util::future::BoxFuture;

use super::job::Job;
use super::{Reader, StorageError};

/// A type that gives a store access to its database, such as SQLite.
pub(super) trait Backend: Send + Sync + 'static {
    /// Returns a connection whose statements each read the latest committed state.
    fn reader(&self) -> BoxFuture<'_, Result<Reader, StorageError>>;
    /// Returns a connection whose statements all read the same state.
    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>>;
    /// Queues a job, which runs in a transaction. After the commit the job sends its result to its
    /// caller. A job whose caller no longer waits is dropped.
    fn submit(&self, job: Box<dyn Job>);
    /// Finishes all submitted jobs and closes all connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}
