//! An SQLite file that another process writes, and this one only reads.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use diesel::connection::SimpleConnection;
use diesel::sql_types::BigInt;
use diesel::{Connection as _, QueryableByName, RunQueryDsl, SqliteConnection};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::files::{self, Files};
use super::reader::Idle;
use super::{BUSY, READER_CACHE, unopened};
use crate::storage::backend::Backend;
use crate::storage::job::{Job, Owner};
use crate::storage::{Reader, StorageError};

/// A database whose connections SQLite opens read-only.
///
/// A missing file is not created. SQLite itself makes the log and its index beside a file that no
/// other process has open, since it cannot read without an index, and leaves them for the next
/// writer.
pub(in crate::storage) struct ReadOnlySqlite {
    idle: Arc<Idle>,
}

/// What a connection says about the size of the database.
#[derive(QueryableByName)]
struct Pages {
    #[diesel(sql_type = BigInt)]
    page_count: i64,
}

impl ReadOnlySqlite {
    /// Opens the database in a file.
    ///
    /// # Errors
    ///
    /// If the file does not exist, cannot be read, or is not in write-ahead mode, as every file is that
    /// the service has opened.
    pub(in crate::storage) fn open(file: &Path) -> Result<Self, StorageError> {
        let failed = |error: &dyn std::fmt::Display| unopened(file, error);
        let database = file.canonicalize().map_err(|error| failed(&error))?;
        let mut connection = connect(&database)?;
        // The first read makes the log and its index, if they are missing.
        let sql = "SELECT page_count FROM pragma_page_count";
        let read: Pages = diesel::sql_query(sql).get_result(&mut connection)?;
        if read.page_count == 0 {
            return Err(failed(
                &"it is empty: start `stratusd serve`, which fills it",
            ));
        }
        let files = Files::of(&database).map_err(|error| failed(&error))?;
        let idle = Idle {
            files: Arc::new(files),
            connect: Box::new(connect),
            connections: Mutex::new(vec![connection]),
        };
        Ok(Self {
            idle: Arc::new(idle),
        })
    }
}

fn connect(database: &Path) -> Result<SqliteConnection, StorageError> {
    let uri = files::uri(database, "ro").map_err(|error| unopened(database, &error))?;
    let connection = SqliteConnection::establish(&uri);
    let mut connection = connection.map_err(|error| unopened(database, &error))?;
    connection.batch_execute(&format!(
        "PRAGMA busy_timeout = {}; PRAGMA cache_size = -{READER_CACHE}",
        BUSY.as_millis()
    ))?;
    Ok(connection)
}

impl Backend for ReadOnlySqlite {
    fn reader<'a>(&'a self, _: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        self.read(false)
    }

    fn snapshot<'a>(&'a self, _: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        self.read(true)
    }

    // Never called: the store has no method that submits.
    fn submit(&self, _: Box<dyn Job>) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        self.idle
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        std::future::ready(()).boxed()
    }
}

impl ReadOnlySqlite {
    /// Returns a connection, after a check that the files are still those that are open: a file that was
    /// replaced would be read without an error, and never change.
    fn read(&self, is_snapshot: bool) -> BoxFuture<'_, Result<Reader, StorageError>> {
        let in_place = self.idle.files.ensure_in_place();
        let reader = in_place
            .map_err(StorageError::Unavailable)
            .and_then(|()| self.idle.reader(is_snapshot));
        std::future::ready(reader).boxed()
    }
}
