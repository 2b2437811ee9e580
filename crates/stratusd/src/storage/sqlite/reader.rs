//! A connection to SQLite that is read with, and where connections wait for the next reader.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use diesel::{QueryResult, SqliteConnection};

use crate::storage::statement::Statement;

/// Connections that nobody reads with at the moment. There are as many as there were readers at the same time, which
/// is no more than the run time has threads, but for snapshots.
pub(in crate::storage) struct Idle {
    pub(super) file: PathBuf,
    pub(super) connections: Mutex<Vec<SqliteConnection>>,
}

/// A connection to SQLite, for one reader at a time.
pub(in crate::storage) struct SqliteReader {
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

/// Runs a statement that begins or ends a transaction, kept prepared as the others are.
pub(super) fn execute(connection: &mut SqliteConnection, sql: &'static str) -> QueryResult<()> {
    let statement = Statement {
        sql: sql.into(),
        parameters: &[],
    };
    diesel::RunQueryDsl::execute(statement, connection).map(|_| ())
}
