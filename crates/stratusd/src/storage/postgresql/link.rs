//! A connection to PostgreSQL with a limit on the time of each statement.
//!
//! The server runs a statement to its end even if nobody waits for it any more. If its connection
//! is closed meanwhile, the backend (the server's process for the connection) still runs on. So a
//! connection with an abandoned statement is not closed but reclaimed: the server is asked to
//! cancel the statement, and then the same backend runs the next one.
//!
//! A round trip to the server costs both sides more than most statements do. So what has no result
//! that matters waits in the connection, such as `BEGIN` and inserts, and is sent together with the
//! next statement or the commit (pipelining).

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::deserialize::FromSqlRow;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::{BoxFuture, join, join_all};
use futures_util::{FutureExt, StreamExt, TryFutureExt, TryStreamExt};
use tokio::task::{AbortHandle, coop};
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
/// The maximum number of messages that wait to be sent. `join_all` polls as many in their order.
const WAITING: usize = 16;

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
    /// Whether a transaction was begun that has not been committed or rolled back. The server does
    /// not know of it while its beginning waits.
    is_in_transaction: bool,
    /// What is sent before the next statement, in this order.
    waiting: Vec<Waiting>,
    /// The statements that have run on this connection, so that diesel keeps their prepared form.
    prepared: HashSet<&'static str>,
}

/// A message that waits to be sent together with the next one.
enum Waiting {
    /// The beginning of a transaction.
    Begin(Cow<'static, str>),
    /// A statement that is prepared and whose result does not matter, unless it fails.
    Statement(Statement<'static>),
}

/// Why a transaction was not committed.
pub(super) enum Uncommitted {
    /// The server has rolled it back.
    RolledBack(StorageError),
    /// The commit has failed. If the connection was lost, the server may have committed before.
    Unknown(StorageError),
}

/// The responses to messages that were sent together.
struct Responses<T> {
    /// The first error of what has waited.
    earlier: QueryResult<()>,
    /// The response to the last message, which means nothing if an earlier one has failed.
    last: QueryResult<T>,
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
            waiting: Vec::new(),
            prepared: HashSet::new(),
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

    /// Returns whether a transaction is open of which the server knows, or may know.
    pub(super) fn has_begun(&self) -> bool {
        self.is_in_transaction
            && !matches!(self.waiting.as_slice().first(), Some(Waiting::Begin(_)))
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
    /// If the statement, or one that has waited for it, fails or exceeds the time limit. In the latter
    /// case the connection must be reclaimed ([`Link::reclaim`]).
    pub async fn load<R: Record>(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<Vec<Read<R>>, StorageError> {
        self.narrow().await?;
        let text = statement.postgres();
        let rows = self.send(|connection| rows(connection, statement)).await?;
        self.prepared.insert(text);
        Ok(rows)
    }

    /// Runs a statement that writes, and returns the number of rows that it changed.
    ///
    /// # Errors
    ///
    /// As [`Link::load`].
    pub async fn execute(&mut self, statement: Statement<'_>) -> Result<usize, StorageError> {
        self.narrow().await?;
        let text = statement.postgres();
        let touched = self
            .send(|connection| touched(connection, statement))
            .await?;
        self.prepared.insert(text);
        Ok(touched)
    }

    /// Runs a statement of a change, at the latest with its commit. If the statement fails, the next
    /// one or the commit has its error.
    ///
    /// # Errors
    ///
    /// As [`Link::load`], for this statement or one before it.
    pub async fn execute_later(&mut self, statement: Statement<'_>) -> Result<(), StorageError> {
        // Without its prepared form, a statement is sent only after another round trip, so that
        // the messages after it would overtake it.
        if !self.prepared.contains(statement.postgres()) {
            self.execute(statement).await?;
            return Ok(());
        }
        if self.waiting.len() == WAITING {
            self.control("").await?;
        }
        self.waiting
            .push(Waiting::Statement(statement.into_owned()));
        Ok(())
    }

    /// Begins the transaction of a change, whose statements together wait for locks for about
    /// `lock_wait`, if that is shorter than the limit of the session. The server hears of it with
    /// the first statement.
    pub(super) fn begin_change(&mut self, lock_wait: Duration) {
        self.lock_wait = whole(lock_wait.min(self.limits.locks).max(SHORTEST));
        self.taken = Duration::ZERO;
        self.is_in_transaction = true;
        let sql = if self.lock_wait == self.limits.locks {
            Cow::Borrowed("BEGIN")
        } else {
            let locks = millis(self.lock_wait);
            Cow::Owned(format!("BEGIN; SET LOCAL lock_timeout = {locks}"))
        };
        self.waiting = vec![Waiting::Begin(sql)];
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
        self.control(format!("SET LOCAL lock_timeout = {locks}"))
            .await?;
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

    /// Commits the transaction of a change.
    ///
    /// # Errors
    ///
    /// If the commit fails, or a statement that has waited for it.
    pub(super) async fn commit(&mut self) -> Result<(), Uncommitted> {
        let begun = Instant::now();
        let responses = self
            .responses(|connection| message(connection, "COMMIT"))
            .await;
        let Responses { earlier, last } = responses.map_err(Uncommitted::Unknown)?;
        // A commit that the server rejects ends the transaction too.
        self.is_in_transaction = false;
        let took = begun.elapsed();
        match self.judged(earlier, took).await {
            Ok(()) => self.judged(last, took).await.map_err(Uncommitted::Unknown),
            // Without a response, the statement and the commit may have succeeded.
            Err(error @ StorageError::Unavailable(_)) => Err(Uncommitted::Unknown(error)),
            // A transaction with a failed statement is rolled back by `COMMIT`.
            Err(error) => Err(Uncommitted::RolledBack(error)),
        }
    }

    /// Rolls the transaction of a change back.
    ///
    /// # Errors
    ///
    /// As [`Link::load`].
    pub(super) async fn roll_back(&mut self) -> Result<(), StorageError> {
        let has_begun = self.has_begun();
        self.waiting.clear();
        if has_begun {
            self.control("ROLLBACK").await?;
        }
        self.is_in_transaction = false;
        Ok(())
    }

    /// Runs statements that have no parameters and return no rows, with the same errors as
    /// [`Link::load`].
    pub(super) async fn control(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
    ) -> Result<(), StorageError> {
        let sql = sql.into();
        self.send(|connection| message(connection, sql)).await
    }

    /// Sends a message after those that wait, and returns its response, or the first error.
    async fn send<T, L>(&mut self, last: L) -> Result<T, StorageError>
    where
        L: for<'c> FnOnce(&'c AsyncPgConnection) -> BoxFuture<'c, QueryResult<T>>,
    {
        let begun = Instant::now();
        let Responses { earlier, last } = self.responses(last).await?;
        let done = earlier.and(last);
        self.judged(done, begun.elapsed()).await
    }

    /// Sends the messages that wait and then the last one, and waits for all responses.
    ///
    /// # Errors
    ///
    /// If a response does not arrive in time.
    async fn responses<T, L>(&mut self, last: L) -> Result<Responses<T>, StorageError>
    where
        L: for<'c> FnOnce(&'c AsyncPgConnection) -> BoxFuture<'c, QueryResult<T>>,
    {
        let connection = &self.connection;
        let waiting = self.waiting.drain(..).map(|waiting| match waiting {
            Waiting::Begin(sql) => message(connection, sql),
            Waiting::Statement(statement) => touched(connection, statement).map_ok(drop).boxed(),
        });
        // A future sends its message when it is polled first, so the messages are sent in this order.
        // `unconstrained`, because a task that has run for long would find some of them not ready.
        let sent = coop::unconstrained(join(join_all(waiting), last(connection)));
        let (earlier, last) = within(&mut self.is_unfinished, self.limits.patience, sent).await?;
        let earlier: QueryResult<()> = earlier.into_iter().collect();
        Ok(Responses { earlier, last })
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
        let is_known_to_the_server = self.has_begun() || self.is_unfinished;
        self.waiting.clear();
        if !is_known_to_the_server {
            self.is_in_transaction = false;
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
        let is_understood = self.wire.is_english;
        Err(perhaps_locked(
            error.into(),
            is_understood,
            took,
            self.lock_wait,
        ))
    }
}

/// Returns the error of a statement that took the time `took`. If the messages of the server are not
/// understood, an error that is not known is [`StorageError::Locked`] if the statement could have waited
/// for a lock until its limit, `lock_wait`.
fn perhaps_locked(
    error: StorageError,
    is_understood: bool,
    took: Duration,
    lock_wait: Duration,
) -> StorageError {
    match error {
        StorageError::Other(cause) if !is_understood && took >= lock_wait => {
            StorageError::Locked(cause)
        }
        error => error,
    }
}

/// Runs a query, and returns its rows.
fn rows<'c, R: Record>(
    mut connection: &'c AsyncPgConnection,
    query: Statement<'_>,
) -> BoxFuture<'c, QueryResult<Vec<Read<R>>>> {
    let rows = connection.load(query);
    async move {
        let rows = rows.await?;
        let read = rows.map(|row| Read::build_from_row(&row?).map_err(Error::DeserializationError));
        read.try_collect().await
    }
    .boxed()
}

/// Runs a statement, and returns the number of rows that it changed.
fn touched<'c>(
    mut connection: &'c AsyncPgConnection,
    statement: Statement<'_>,
) -> BoxFuture<'c, QueryResult<usize>> {
    connection.execute_returning_count(statement)
}

/// Runs statements that have no parameters and return no rows.
fn message(
    mut connection: &AsyncPgConnection,
    sql: impl Into<Cow<'static, str>>,
) -> BoxFuture<'_, QueryResult<()>> {
    let sql = sql.into();
    async move { connection.batch_execute(&sql).await }.boxed()
}

/// Rounds a time up to whole milliseconds, the unit of the limits that the server is sent. Rounded down,
/// what is left of the limit of the session would always be another limit.
fn whole(time: Duration) -> Duration {
    const ROUND_UP: Duration = Duration::from_nanos(999_999);
    let rounded = millis(time.saturating_add(ROUND_UP));
    Duration::from_millis(u64::try_from(rounded).unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit test, because the servers of the other tests have English messages.
    #[test]
    fn an_error_in_another_language_after_the_wait_for_a_lock_means_a_lock() {
        let limit = Duration::from_millis(100);
        let error =
            || StorageError::Other("storniere Anfrage wegen Sperrenzeitüberschreitung".into());
        let is_locked = |is_understood, took| {
            let took = Duration::from_millis(took);
            matches!(
                perhaps_locked(error(), is_understood, took, limit),
                StorageError::Locked(_)
            )
        };
        assert!(is_locked(false, 100));
        assert!(!is_locked(false, 99), "it has not waited for long enough");
        assert!(
            !is_locked(true, 100),
            "an English message would have said so"
        );
        let conflict = perhaps_locked(StorageError::Conflict, false, limit, limit);
        assert!(conflict.is_conflict(), "a known error stays what it is");
    }
}
