//! SQLite: one thread writes, whoever reads does so by itself, and changes that wait are committed together.
//!
//! Each commit waits for the disk (`synchronous=FULL` on a write-ahead log), which costs about as much for one
//! change as for many. So a writer takes whatever has come while it waited, runs it as one transaction, and
//! acknowledges all of it after that one wait.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::config::DbConfig;
use tokio::sync::{mpsc, oneshot};

use super::job::{Job, Ran};
use super::reader::{Held, SqliteReader};
use super::{Backend, Connection, Reader, StorageError, migrate};

/// Changes that one transaction holds at most.
const BATCH: usize = 512;
/// How long another process may hold the file's write lock before a change is refused.
const BUSY: Duration = Duration::from_secs(5);
/// Statements that a connection keeps prepared.
const STATEMENTS: usize = 128;

pub(super) struct Sqlite {
    idle: Arc<Idle>,
    jobs: mpsc::UnboundedSender<Box<dyn Job>>,
    /// Told when the writer has ended.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

/// Connections that nobody reads with at the moment. There are as many as there were readers at the same time, which
/// is no more than the run time has threads, but for snapshots.
#[derive(Debug)]
pub(super) struct Idle {
    file: PathBuf,
    pub(super) connections: Mutex<Vec<rusqlite::Connection>>,
}

impl Sqlite {
    pub(super) fn open(file: &Path) -> Result<Self, StorageError> {
        let lock = lock_file(file)?;
        let mut writer = connect(file)?;
        migrate::sqlite(&mut writer)?;
        drop(lock);
        let (jobs, waiting) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let work = move || {
            write(&mut writer, waiting);
            // The last one out folds the log into the file.
            if let Err((_, error)) = writer.close() {
                tracing::warn!(error = &error as &dyn std::error::Error, "the database did not close in order");
            }
            let _ = end.send(());
        };
        let started = std::thread::Builder::new().name("sqlite-writer".to_owned()).spawn(work);
        started.map_err(|error| StorageError::Other(error.into()))?;
        let idle = Arc::new(Idle { file: file.to_owned(), connections: Mutex::default() });
        Ok(Self { idle, jobs, ended: Mutex::new(Some(ended)) })
    }

    fn reader(&self, is_snapshot: bool) -> Result<Reader, StorageError> {
        let idle = self.idle.connections.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = if let Some(connection) = idle {
            connection
        } else {
            let connection = connect(&self.idle.file)?;
            // A reader that writes by mistake fails.
            connection.pragma_update(None, "query_only", true)?;
            connection
        };
        if is_snapshot {
            connection.execute_batch("BEGIN")?;
        }
        let reader = SqliteReader { connection: Some(connection), is_snapshot, idle: Arc::clone(&self.idle) };
        Ok(Reader(Held::Sqlite(reader)))
    }
}

fn connect(file: &Path) -> Result<rusqlite::Connection, StorageError> {
    let connection = rusqlite::Connection::open(file)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise each new value of a parameter has the statement planned again, which takes longer than running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -8000)?;
    Ok(connection)
}

/// Waits for the lock beside a database.
fn lock_file(file: &Path) -> Result<File, StorageError> {
    let path = PathBuf::from(format!("{}.lock", file.display()));
    let opened = File::options().create(true).write(true).truncate(false).open(&path);
    let lock = opened.and_then(|lock| lock.lock().map(|()| lock));
    lock.map_err(|error| StorageError::InUse(format!("failed to lock {}: {error}", path.display())))
}

/// Claims a database for one service: two that reconcile the same file would do each step twice.
///
/// # Errors
///
/// If another service has it.
pub fn claim(file: &Path) -> Result<File, StorageError> {
    let path = PathBuf::from(format!("{}.serve", file.display()));
    let told = |words: String| StorageError::InUse(format!("failed to claim {}: {words}", file.display()));
    let claim = File::options().create(true).write(true).truncate(false).open(&path);
    let claim = claim.map_err(|error| told(error.to_string()))?;
    match claim.try_lock() {
        Ok(()) => Ok(claim),
        Err(TryLockError::WouldBlock) => {
            Err(told("another stratusd serves it; use PostgreSQL for several replicas".to_owned()))
        }
        Err(TryLockError::Error(error)) => Err(told(error.to_string())),
    }
}

impl Backend for Sqlite {
    fn reader(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async { self.reader(false) })
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async { self.reader(true) })
    }

    fn submit(&self, job: Box<dyn Job>) {
        if let Err(unsent) = self.jobs.send(job) {
            unsent.0.answer(Err(StorageError::Closed));
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.idle.connections.lock().unwrap_or_else(PoisonError::into_inner).clear();
            self.submit(Box::new(Last));
            let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(ended) = ended {
                let _ = ended.await;
            }
        })
    }
}

/// The job after which the writer stops.
struct Last;

impl Job for Last {
    fn run<'a>(&'a mut self, _: &'a mut Connection<'_>) -> BoxFuture<'a, Ran> {
        Box::pin(async { Ran::Refused })
    }

    fn answer(self: Box<Self>, _: Result<(), StorageError>) {}

    fn is_last(&self) -> bool {
        true
    }
}

/// Runs whatever comes, together where it has come together.
fn write(connection: &mut rusqlite::Connection, mut waiting: mpsc::UnboundedReceiver<Box<dyn Job>>) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let received = waiting.blocking_recv_many(&mut batch, BATCH);
        if batch.iter().any(|job| job.is_last()) {
            waiting.close();
        }
        commit(connection, &mut batch);
        if received == 0 {
            return;
        }
    }
}

/// Commits a batch as one transaction; where one of its jobs spoils that, each in one of its own.
fn commit(connection: &mut rusqlite::Connection, batch: &mut Vec<Box<dyn Job>>) {
    if batch.len() > 1 && together(connection, batch) {
        batch.drain(..).for_each(|job| job.answer(Ok(())));
        return;
    }
    for mut job in batch.drain(..) {
        let committed = alone(connection, &mut *job);
        job.answer(committed);
    }
}

/// Whether all jobs are committed now. Otherwise none is, and nobody was answered.
fn together(connection: &mut rusqlite::Connection, batch: &mut [Box<dyn Job>]) -> bool {
    if execute(connection, "BEGIN IMMEDIATE").is_err() {
        return false;
    }
    let mut is_sound = true;
    for job in batch {
        let mut tx = Connection::sqlite(connection);
        is_sound = match run(&mut **job, &mut tx) {
            Ran::Done => true,
            // What has only read can stay: it left nothing behind.
            Ran::Refused => !tx.wrote,
            Ran::Failed(_) => false,
        };
        if !is_sound {
            break;
        }
    }
    if is_sound && execute(connection, "COMMIT").is_ok() {
        return true;
    }
    roll_back(connection);
    false
}

/// Runs one job in a transaction of its own.
fn alone(connection: &mut rusqlite::Connection, job: &mut dyn Job) -> Result<(), StorageError> {
    execute(connection, "BEGIN IMMEDIATE")?;
    let ended = match run(job, &mut Connection::sqlite(connection)) {
        Ran::Done => execute(connection, "COMMIT"),
        Ran::Refused => {
            roll_back(connection);
            return Ok(());
        }
        Ran::Failed(error) => Err(error),
    };
    if ended.is_err() {
        roll_back(connection);
    }
    ended
}

/// Runs a job to its end: there is nothing in it that waits, but for statements, which SQLite ends before they return.
fn run(job: &mut dyn Job, tx: &mut Connection<'_>) -> Ran {
    job.run(tx).now_or_never().unwrap_or(Ran::Failed(StorageError::Closed))
}

fn execute(connection: &rusqlite::Connection, sql: &str) -> Result<(), StorageError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Undoes what is left of a transaction. SQLite may have done so by itself, then there is nothing to undo.
fn roll_back(connection: &rusqlite::Connection) {
    if let Err(error) = execute(connection, "ROLLBACK") {
        tracing::debug!(error = &error as &dyn std::error::Error, "there was no transaction to roll back");
    }
}
