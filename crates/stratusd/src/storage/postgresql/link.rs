//! A connection to PostgreSQL, on which nothing waits for ever.

use std::time::Duration;

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::FutureExt;
use tokio::task::AbortHandle;

use crate::storage::StorageError;
use crate::storage::record::{Read, Record};
use crate::storage::statement::Statement;

/// A connection, as long as the server keeps it up.
pub struct Link {
    connection: AsyncPgConnection,
    carrier: AbortHandle,
    /// How long a statement may take, the locks that it waits for included.
    patience: Duration,
}

impl Link {
    /// A connection that lives as long as the task that carries it.
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

    /// Whether the server, or somebody on the way to it, has ended the connection.
    pub(super) fn is_lost(&self) -> bool {
        self.carrier.is_finished()
    }

    /// The connection, for whoever waits by itself.
    pub fn into_inner(self) -> AsyncPgConnection {
        self.connection
    }

    /// All rows of a query.
    ///
    /// # Errors
    ///
    /// If it fails, or takes longer than it may, after which the connection is of no use any more.
    pub async fn load<R: Record>(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<Vec<Read<R>>, StorageError> {
        let rows = RunQueryDsl::load(statement, &mut self.connection);
        let rows = within((&self.carrier, self.patience), rows).await?;
        self.judged(rows).await
    }

    /// Runs a statement that writes; gives how many rows it touched.
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

    /// Sends what ends a transaction, without waiting: whoever has the connection next is served after it.
    pub fn leave(&mut self) {
        let _ = self.connection.batch_execute("COMMIT").now_or_never();
    }

    /// Tells a server that goes away from one that refuses a statement: diesel does not pass PostgreSQL's codes on,
    /// but a connection that is gone takes nothing more.
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

/// Waits for a statement. A server that does not answer is not asked again on this connection.
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

/// What is said of a server that does not answer.
pub(super) fn silent() -> StorageError {
    StorageError::Unavailable("the server does not answer in time".into())
}
