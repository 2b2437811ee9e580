//! A connection to SQLite that is read with, and where connections wait for the next reader.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use diesel::connection::SimpleConnection;
use diesel::{QueryResult, SqliteConnection};

use super::files::Files;
use crate::storage::reader::Held;
use crate::storage::statement::{StatementText, Typed, statement};
use crate::storage::{Reader, StorageError};

/// The idle connections. There are as many as there were readers at one time: snapshots aside, no
/// more than the runtimes have threads, since a statement on SQLite does not suspend its task.
pub(in crate::storage) struct Idle {
    pub(super) files: Arc<Files>,
    /// Connects to the database file at a path.
    pub(super) connect: Box<dyn Fn(&Path) -> Result<SqliteConnection, StorageError> + Send + Sync>,
    pub(super) connections: Mutex<Vec<SqliteConnection>>,
}

impl Idle {
    /// Returns an idle connection or a new one, to read with. Its statements all read the same state if
    /// `is_snapshot`.
    pub(super) fn reader(self: &Arc<Self>, is_snapshot: bool) -> Result<Reader, StorageError> {
        let idle = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut connection = if let Some(connection) = idle {
            connection
        } else {
            let files = &self.files;
            // A connection writes its journal mode into a file that has another one.
            files.ensure_in_place().map_err(StorageError::Unavailable)?;
            let mut connection = (self.connect)(files.database())?;
            // After it is open, so that it is known to be the same file.
            files.ensure_in_place().map_err(StorageError::Unavailable)?;
            // A statement that writes through a reader by mistake fails.
            connection.batch_execute("PRAGMA query_only = TRUE")?;
            connection
        };
        if is_snapshot {
            execute(&mut connection, statement!("BEGIN"))?;
        }
        let reader = SqliteReader {
            connection: Some(connection),
            is_snapshot,
            idle: Arc::clone(self),
        };
        Ok(Reader(Held::Sqlite(reader)))
    }
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
