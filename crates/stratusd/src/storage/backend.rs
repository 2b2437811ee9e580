//! What a database must offer to a store.

use futures_util::future::BoxFuture;

use super::job::Job;
use super::{Reader, StorageError};

/// What a database must offer.
pub(super) trait Backend: Send + Sync + 'static {
    /// A connection that reads what is committed.
    fn reader(&self) -> BoxFuture<'_, Result<Reader, StorageError>>;
    /// A connection that sees one state of everything, however long it reads.
    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>>;
    /// Runs a job in a transaction, commits, and lets it answer. It may drop one that nobody waits for any more.
    fn submit(&self, job: Box<dyn Job>);
    /// Finishes what was submitted and closes all connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}
