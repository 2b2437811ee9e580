//! A connection to PostgreSQL with a limit on the time of each statement.

use std::time::Duration;

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::FutureExt;
use tokio::task::AbortHandle;

use crate::storage::StorageError;
use crate::storage::record::{Read, Record};
use crate::storage::statement::Statement;

/// A connection to PostgreSQL.
pub struct Link {
    connection: AsyncPgConnection,
    /// The task that moves bytes between the connection and its socket.
    carrier: AbortHandle,
    /// How long a statement may take, including the locks that it waits for.
    patience: Duration,
}

impl Link {
    /// Wraps a connection that lives as long as its task.
    pub(super) fn new(
        connection: AsyncPgConnection,
        carrier: AbortHandle,
        patience: Duration,
    ) -> Self {
        Self {
            connection,
            carrier,
            patience,
        }
    }

    /// Returns whether the connection was closed, by the server or by the network.
    pub(super) fn is_lost(&self) -> bool {
        self.carrier.is_finished()
    }

    /// Returns the connection without its time limit.
    pub fn into_inner(self) -> AsyncPgConnection {
        self.connection
    }

    /// Returns all rows of a query.
    ///
    /// # Errors
    ///
    /// If the statement fails or takes too long. After the latter the connection cannot be used any
    /// more.
    pub async fn load<R: Record>(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<Vec<Read<R>>, StorageError> {
        let rows = RunQueryDsl::load(statement, &mut self.connection);
        let rows = within((&self.carrier, self.patience), rows).await?;
        self.judged(rows).await
    }

    /// Runs a statement that writes, and returns the number of rows that it changed.
    ///
    /// # Errors
    ///
    /// As [`Link::load`].
    pub async fn execute(&mut self, statement: Statement<'_>) -> Result<usize, StorageError> {
        let touched = RunQueryDsl::execute(statement, &mut self.connection);
        let touched = within((&self.carrier, self.patience), touched).await?;
        self.judged(touched).await
    }

    /// Begins or ends a transaction.
    ///
    /// # Errors
    ///
    /// As [`Link::load`].
    pub async fn control(&mut self, sql: &'static str) -> Result<(), StorageError> {
        let done = self.connection.batch_execute(sql);
        let done = within((&self.carrier, self.patience), done).await?;
        self.judged(done).await
    }

    /// Sends the end of a transaction without waiting for it: the server handles it before the next
    /// statement.
    pub fn leave(&mut self) {
        // The first poll queues the statement, and the carrier sends it without further polls.
        // Nothing was written, so the response does not matter.
        let _ = self.connection.batch_execute("COMMIT").now_or_never();
    }

    /// Returns the result of a statement. Its error is `Unavailable` if the server is shutting
    /// down.
    ///
    /// diesel does not pass PostgreSQL's codes on, so an empty statement shows whether the
    /// connection still works.
    async fn judged<T>(&mut self, done: QueryResult<T>) -> Result<T, StorageError> {
        let error = match done {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let is_unknown = matches!(error, Error::DatabaseError(DatabaseErrorKind::Unknown, _));
        if is_unknown
            && within(
                (&self.carrier, self.patience),
                self.connection.batch_execute(""),
            )
            .await?
            .is_err()
        {
            return Err(StorageError::Unavailable(error.into()));
        }
        Err(error.into())
    }
}

/// Waits for a statement. After a timeout the connection is closed: its next response would be
/// that of the old statement.
async fn within<T>(
    (carrier, patience): (&AbortHandle, Duration),
    statement: impl Future<Output = T>,
) -> Result<T, StorageError> {
    tokio::time::timeout(patience, statement)
        .await
        .map_err(|_| {
            carrier.abort();
            silent()
        })
}

/// Returns the error of a server that does not respond.
pub(super) fn silent() -> StorageError {
    StorageError::Unavailable("the server does not respond in time".into())
}
