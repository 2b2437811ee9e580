//! A connection to PostgreSQL with a limit on the time of each statement.
//!
//! The server runs a statement to its end even if nobody waits for it any more. If its connection
//! is closed meanwhile, the backend (the server's process for the connection) still runs on. So a
//! connection with an abandoned statement is not closed but reclaimed: the server is asked to
//! cancel the statement, and then the same backend runs the next one.

use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::FutureExt;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

use super::cancel::Canceller;
use super::session::{Limits, millis};
use crate::storage::record::{Read, Record};
use crate::storage::statement::Statement;
use crate::storage::{StorageError, WAIT};

/// How long to wait for the end of an abandoned statement before asking the server to cancel it.
/// Most end sooner, and a request to cancel costs the server another connection.
const GRACE: Duration = Duration::from_millis(100);
/// The shortest wait for a lock: a setting of zero would be no limit.
const SHORTEST: Duration = Duration::from_millis(1);

/// A connection to PostgreSQL, whose statements have a time limit.
pub struct Link {
    connection: AsyncPgConnection,
    wire: Wire,
    limits: Limits,
    /// How long a statement waits for a lock at the moment.
    lock_wait: Duration,
    /// How long the statements of the transaction have taken since `lock_wait` was set.
    taken: Duration,
    /// Whether a statement was sent whose response has not fully arrived.
    is_unfinished: bool,
    /// Whether a transaction was begun that has not been committed or rolled back.
    is_in_transaction: bool,
}

/// The parts of a connection beside its client: the task that serves it, and what is needed to
/// cancel a statement.
pub(super) struct Wire {
    /// The handle of the task that moves bytes between the client and the socket. The connection is
    /// closed when this task has ended.
    pub carrier: AbortHandle,
    /// Tells the task, when it is dropped, that the client is gone. The task then ends within a
    /// limited time.
    pub given_up: DropGuard,
    /// Cancels the statements of the connection's backend.
    pub canceller: Canceller,
    /// Whether the server's messages are known to be in English.
    pub is_english: bool,
}

impl Link {
    /// Wraps a connection, so that each of its statements keeps to the limits.
    pub(super) fn new(connection: AsyncPgConnection, wire: Wire, limits: Limits) -> Self {
        Self {
            connection,
            wire,
            limits,
            lock_wait: limits.locks,
            taken: Duration::ZERO,
            is_unfinished: false,
            is_in_transaction: false,
        }
    }

    /// Returns whether the connection was closed, by the server or by the network.
    pub(super) fn is_lost(&self) -> bool {
        self.wire.carrier.is_finished()
    }

    /// Returns whether a statement was sent whose response has not fully arrived.
    pub(super) fn is_unfinished(&self) -> bool {
        self.is_unfinished
    }

    /// Returns whether a statement is unfinished or a transaction is open.
    pub(super) fn is_abandoned(&self) -> bool {
        self.is_unfinished || self.is_in_transaction
    }

    /// Returns the connection without the time limit of statements. After the connection is
    /// dropped, its task waits without limit for the last statement to end.
    pub fn into_inner(self) -> AsyncPgConnection {
        self.wire.given_up.disarm();
        self.connection
    }

    /// Returns all rows of a query.
    ///
    /// # Errors
    ///
    /// If the statement fails or exceeds the time limit. In the latter case the connection must be
    /// reclaimed ([`Link::reclaim`]).
    pub async fn load<R: Record>(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<Vec<Read<R>>, StorageError> {
        self.narrow().await?;
        let begun = Instant::now();
        let rows = RunQueryDsl::load(statement, &mut self.connection);
        let rows = within(&mut self.is_unfinished, self.limits.patience, rows).await?;
        self.judged(rows, begun.elapsed()).await
    }

    /// Runs a statement that writes, and returns the number of rows that it changed.
    ///
    /// # Errors
    ///
    /// As [`Link::load`].
    pub async fn execute(&mut self, statement: Statement<'_>) -> Result<usize, StorageError> {
        self.narrow().await?;
        let begun = Instant::now();
        let touched = RunQueryDsl::execute(statement, &mut self.connection);
        let touched = within(&mut self.is_unfinished, self.limits.patience, touched).await?;
        self.judged(touched, begun.elapsed()).await
    }

    /// Begins the transaction of a change, whose statements together wait for locks for about
    /// `lock_wait`, if that is shorter than the limit of the session.
    ///
    /// # Errors
    ///
    /// As [`Link::load`].
    pub(super) async fn begin_change(&mut self, lock_wait: Duration) -> Result<(), StorageError> {
        self.lock_wait = whole(lock_wait.min(self.limits.locks).max(SHORTEST));
        self.taken = Duration::ZERO;
        if self.lock_wait == self.limits.locks {
            return self.begin("BEGIN").await;
        }
        self.is_in_transaction = true;
        // One message: the limit costs no round trip.
        let locks = millis(self.lock_wait);
        let sql = format!("BEGIN; SET LOCAL lock_timeout = {locks}");
        self.control(&sql).await?;
        // These statements wait for no lock.
        self.taken = Duration::ZERO;
        Ok(())
    }

    /// Shortens the wait of the next statements for a lock by the time that the statements before them
    /// have taken, once that is a quarter of it. Before then, the shorter wait is not worth a round
    /// trip. PostgreSQL itself has no limit for a whole transaction.
    async fn narrow(&mut self) -> Result<(), StorageError> {
        let is_shortest = self.lock_wait <= SHORTEST;
        if !self.is_in_transaction || is_shortest || self.taken < self.lock_wait / 4 {
            return Ok(());
        }
        let left = self.lock_wait.saturating_sub(self.taken);
        self.lock_wait = whole(left.max(SHORTEST));
        let locks = millis(self.lock_wait);
        let sql = format!("SET LOCAL lock_timeout = {locks}");
        self.control(&sql).await?;
        self.taken = Duration::ZERO;
        Ok(())
    }

    /// Begins a transaction with the statement `sql`, such as `BEGIN`.
    ///
    /// # Errors
    ///
    /// As [`Link::load`].
    pub async fn begin(&mut self, sql: &'static str) -> Result<(), StorageError> {
        self.lock_wait = self.limits.locks;
        self.taken = Duration::ZERO;
        // Set before the statement is sent, so that a transaction is also ended if the caller goes
        // away during it.
        self.is_in_transaction = true;
        self.control(sql).await
    }

    /// Ends a transaction with the statement `sql`: `COMMIT` or `ROLLBACK`.
    ///
    /// # Errors
    ///
    /// As [`Link::load`].
    pub async fn end(&mut self, sql: &'static str) -> Result<(), StorageError> {
        let ended = self.control(sql).await;
        // A commit that the server rejects ends the transaction too.
        self.is_in_transaction = self.is_unfinished;
        ended
    }

    /// Runs statements that have no parameters and return no rows, with the same errors as
    /// [`Link::load`].
    pub(super) async fn control(&mut self, sql: &str) -> Result<(), StorageError> {
        let begun = Instant::now();
        let done = self.connection.batch_execute(sql);
        let done = within(&mut self.is_unfinished, self.limits.patience, done).await?;
        self.judged(done, begun.elapsed()).await
    }

    /// Ends a transaction that has written nothing. It sends `COMMIT` and does not wait for the
    /// response: the server handles it before the next statement.
    pub fn leave(&mut self) {
        // The first poll queues the statement, and the task sends it without further polls.
        // Nothing was written, so the response does not matter.
        let _ = self.connection.batch_execute("COMMIT").now_or_never();
        self.is_in_transaction = false;
    }

    /// Ends an abandoned statement and rolls back its transaction, so that the connection can be
    /// used again. Returns false if the connection must be dropped instead, because it is lost or
    /// the server does not respond.
    pub async fn reclaim(&mut self) -> bool {
        if self.is_lost() {
            return false;
        }
        if !self.is_abandoned() {
            return true;
        }
        // Until the end, so that nobody uses the connection if this future is dropped.
        self.is_unfinished = true;
        // Queued behind the abandoned statement: its response shows that the latter has ended.
        let end = if self.is_in_transaction {
            "ROLLBACK"
        } else {
            ""
        };
        let is_ended = {
            let mut ended = Box::pin(self.connection.batch_execute(end));
            match timeout(GRACE, &mut ended).await {
                Ok(ended) => ended.is_ok(),
                Err(_) => {
                    self.wire.canceller.cancel().await
                        && matches!(timeout(WAIT, ended).await, Ok(Ok(())))
                }
            }
        };
        // Another round trip: a backend ignores a request to cancel that comes between statements,
        // but may not have read the request yet.
        let is_ended = is_ended
            && matches!(
                timeout(WAIT, self.connection.batch_execute("")).await,
                Ok(Ok(()))
            );
        if is_ended {
            self.is_unfinished = false;
            self.is_in_transaction = false;
        }
        is_ended
    }

    /// Converts the result of a statement that took the time `took`. The error is `Locked` if the
    /// server has ended its wait for a lock, and `Unavailable` if the server is shutting down.
    ///
    /// diesel does not pass on PostgreSQL's error codes, but errors are known by English messages. On a
    /// server with others, `took` shows whether the limit of waits for locks was reached; and an empty
    /// statement shows whether the connection still works.
    async fn judged<T>(&mut self, done: QueryResult<T>, took: Duration) -> Result<T, StorageError> {
        // Only a statement that waits for something takes long, and what for is not known.
        self.taken += took;
        let error = match done {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if !matches!(error, Error::DatabaseError(DatabaseErrorKind::Unknown, _)) {
            return Err(error.into());
        }
        let alive = self.connection.batch_execute("");
        let alive = within(&mut self.is_unfinished, self.limits.patience, alive).await?;
        if alive.is_err() {
            return Err(StorageError::Unavailable(error.into()));
        }
        Err(match error.into() {
            StorageError::Other(cause) if !self.wire.is_english && took >= self.lock_wait => {
                StorageError::Locked(cause)
            }
            error => error,
        })
    }
}

/// Rounds a time down to whole milliseconds, the unit of the limits that the server is sent.
fn whole(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(millis(time)).unwrap_or_default())
}

/// Waits for a statement for at most `patience`. After a timeout, or if this future is dropped,
/// `is_unfinished` stays true: the next response on the connection would be that of this statement.
async fn within<T>(
    is_unfinished: &mut bool,
    patience: Duration,
    statement: impl Future<Output = T>,
) -> Result<T, StorageError> {
    *is_unfinished = true;
    let done = timeout(patience, statement).await.map_err(|_| silent())?;
    *is_unfinished = false;
    Ok(done)
}

/// Returns the error for a server that does not respond in time.
pub(super) fn silent() -> StorageError {
    StorageError::Unavailable("the server does not respond in time".into())
}
