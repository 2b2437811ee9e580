//! A connection to read with, returned to where it came from when it is dropped.

use std::fmt;
use std::sync::{Arc, PoisonError};

use deadpool::managed::Object;
use diesel::SqliteConnection;

use super::Connection;
use super::postgresql::Server;
use super::sqlite::{Idle, execute};

/// A connection to read with.
pub struct Reader(pub(super) Held);

pub(super) enum Held {
    Sqlite(SqliteReader),
    Postgres(PostgresReader),
}

/// A connection to PostgreSQL, for one reader at a time.
pub(super) struct PostgresReader {
    pub link: Box<Object<Server>>,
    /// Whether it sees one state of everything until it is dropped.
    pub is_snapshot: bool,
}

impl Drop for PostgresReader {
    fn drop(&mut self) {
        if self.is_snapshot {
            self.link.leave();
        }
    }
}

/// A connection to SQLite, for one reader at a time.
pub(super) struct SqliteReader {
    /// Taken when it is dropped.
    pub connection: Option<SqliteConnection>,
    /// Whether it sees one state of everything until it is dropped.
    pub is_snapshot: bool,
    pub idle: Arc<Idle>,
}

impl Drop for SqliteReader {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        // One whose transaction does not end is of no use to the next.
        if self.is_snapshot && execute(&mut connection, "COMMIT").is_err() {
            return;
        }
        self.idle
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connection);
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
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
            Held::Sqlite(held) => Connection::sqlite(
                held.connection
                    .as_mut()
                    .expect("it is there until the drop"),
            ),
            Held::Postgres(held) => Connection::postgres(&mut held.link),
        }
    }
}
