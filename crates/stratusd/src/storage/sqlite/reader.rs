//! A connection to SQLite that is read with, and where connections wait for the next reader.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diesel::{QueryResult, SqliteConnection};

use super::files::Files;
use crate::storage::statement::{StatementText, Typed, statement};

/// The idle connections. There are as many as there were readers at one time: snapshots aside, no
/// more than the runtime has threads, since a statement on SQLite does not suspend its task.
pub(in crate::storage) struct Idle {
    pub(super) files: Arc<Files>,
    /// How long another process may hold the file's lock.
    pub(super) busy: Duration,
    pub(super) connections: Mutex<Vec<SqliteConnection>>,
}

/// A connection to SQLite that one reader holds.
pub(in crate::storage) struct SqliteReader {
    /// The connection, `Some` until the reader is dropped.
    pub connection: Option<SqliteConnection>,
    /// Whether the connection is in a transaction, whose statements all read the same state. It ends
    /// when the reader is dropped.
    pub is_snapshot: bool,
    pub idle: Arc<Idle>,
}

impl Drop for SqliteReader {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        // The next reader cannot use a connection whose transaction does not end.
        if self.is_snapshot && execute(&mut connection, statement!("COMMIT")).is_err() {
            return;
        }
        self.idle
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connection);
    }
}

/// Runs a statement that begins or ends a transaction, and keeps it prepared as the others are.
pub(super) fn execute(
    connection: &mut SqliteConnection,
    text: impl StatementText,
) -> QueryResult<()> {
    diesel::RunQueryDsl::execute(Typed::new(text, &[]), connection).map(|_| ())
}
