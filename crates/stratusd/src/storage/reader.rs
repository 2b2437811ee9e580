//! A connection to read with, returned to where it came from when it is dropped.

use std::sync::{Arc, PoisonError};

use sqlx::pool::PoolConnection;
use sqlx::{Postgres, Transaction};

use super::Connection;
use super::sqlite::Idle;

/// A connection to read with.
#[derive(Debug)]
pub struct Reader(pub(super) Held);

#[derive(Debug)]
pub(super) enum Held {
    Sqlite(SqliteReader),
    Postgres(PoolConnection<Postgres>),
    PostgresSnapshot(Transaction<'static, Postgres>),
}

/// A connection to SQLite, for one reader at a time.
#[derive(Debug)]
pub(super) struct SqliteReader {
    /// Taken when it is dropped.
    pub connection: Option<rusqlite::Connection>,
    /// Whether it sees one state of everything until it is dropped.
    pub is_snapshot: bool,
    pub idle: Arc<Idle>,
}

impl Drop for SqliteReader {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        // One whose transaction does not end is of no use to the next.
        if self.is_snapshot && connection.execute_batch("COMMIT").is_err() {
            return;
        }
        self.idle.connections.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

impl Reader {
    /// The connection.
    ///
    /// # Panics
    ///
    /// Never: a reader has its connection until it is dropped.
    pub fn connection(&mut self) -> Connection<'_> {
        match &mut self.0 {
            Held::Sqlite(held) => Connection::sqlite(held.connection.as_mut().expect("it is there until the drop")),
            Held::Postgres(held) => Connection::postgres(held),
            Held::PostgresSnapshot(held) => Connection::postgres(held),
        }
    }
}
