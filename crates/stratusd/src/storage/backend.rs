//! The interface that SQLite and PostgreSQL implement for the store.

use futures_util::future::BoxFuture;

use super::job::{Job, Owner};
use super::{Reader, StorageError};

/// A type that reads and writes the database of a store: SQLite or PostgreSQL.
pub(super) trait Backend: Send + Sync + 'static {
    /// Returns a connection for queries, each of which reads the latest committed state.
    fn reader<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>>;
    /// Returns a connection for the queries of a long page, as [`reader`](Self::reader) does. Long pages
    /// leave a connection to others.
    fn long_reader<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        self.reader(owner)
    }
    /// Returns a connection for queries that all read the same committed state.
    fn snapshot<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>>;
    /// Queues a job, which later runs in a transaction. After the commit, or a failure, the job
    /// sends its result to its caller. A job that has not begun when its caller stops waiting is
    /// dropped.
    fn submit(&self, job: Box<dyn Job>);
    /// Finishes all submitted jobs and closes all connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}
