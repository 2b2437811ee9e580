//! SQLite: one connection writes, a few read, and changes that wait together are committed together.
//!
//! Each commit waits for the disk (`synchronous=FULL` on a write-ahead log), which costs about as much for one
//! change as for many. So a writer takes whatever has come while it waited, runs it as one transaction, and
//! acknowledges all of it after that one wait.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::job::{Job, Ran};
use super::reader::Held;
use super::{Backend, Connection, Reader, StorageError, migrate};

/// Changes that one transaction holds at most.
const BATCH: usize = 512;
/// How long another process may hold the file's write lock before a change is refused.
const BUSY: Duration = Duration::from_secs(5);

pub(super) struct Sqlite {
    readers: SqlitePool,
    jobs: mpsc::UnboundedSender<Box<dyn Job>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Sqlite {
    pub(super) async fn open(file: &Path, connections: u32) -> Result<Self, StorageError> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY)
            .pragma("cache_size", "-8000");
        let mut writer = migrated(file, &options).await?;
        // Statements of a reader that writes by mistake fail.
        let readers = SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(BUSY)
            .connect_with(options.create_if_missing(false).pragma("query_only", "ON"))
            .await?;
        let (jobs, waiting) = mpsc::unbounded_channel();
        let writer = tokio::spawn(async move {
            write(&mut writer, waiting).await;
            // The last one out folds the log into the file.
            if let Err(error) = writer.close().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "the database did not close in order");
            }
        });
        Ok(Self { readers, jobs, writer: Mutex::new(Some(writer)) })
    }
}

/// A connection to a database of this version. A lock beside the file keeps two programs from migrating at once.
async fn migrated(file: &Path, options: &SqliteConnectOptions) -> Result<SqliteConnection, StorageError> {
    let lock = lock_file(file)?;
    let mut connection = SqliteConnection::connect_with(options).await?;
    let run = migrate::SQLITE.run(&mut connection).await;
    drop(lock);
    run.map_err(migrate::refusal)?;
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
        Box::pin(async { Ok(Reader(Held::Sqlite(self.readers.acquire().await?))) })
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async { Ok(Reader(Held::SqliteSnapshot(self.readers.begin().await?))) })
    }

    fn submit(&self, job: Box<dyn Job>) {
        if let Err(unsent) = self.jobs.send(job) {
            unsent.0.answer(Err(StorageError::Closed));
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.submit(Box::new(Last));
            let writer = self.writer.lock().ok().and_then(|mut writer| writer.take());
            if let Some(writer) = writer {
                let _ = writer.await;
            }
            self.readers.close().await;
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
async fn write(connection: &mut SqliteConnection, mut waiting: mpsc::UnboundedReceiver<Box<dyn Job>>) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let received = waiting.recv_many(&mut batch, BATCH).await;
        let is_last = received == 0 || batch.iter().any(|job| job.is_last());
        if is_last {
            waiting.close();
        }
        commit(connection, &mut batch).await;
        if received == 0 {
            return;
        }
    }
}

/// Commits a batch as one transaction; where one of its jobs spoils that, each in one of its own.
async fn commit(connection: &mut SqliteConnection, batch: &mut Vec<Box<dyn Job>>) {
    if batch.len() > 1 && together(connection, batch).await {
        batch.drain(..).for_each(|job| job.answer(Ok(())));
        return;
    }
    for mut job in batch.drain(..) {
        let committed = alone(connection, &mut *job).await;
        job.answer(committed);
    }
}

/// Whether all jobs are committed now. Otherwise none is, and nobody was answered.
async fn together(connection: &mut SqliteConnection, batch: &mut [Box<dyn Job>]) -> bool {
    if execute(connection, "BEGIN IMMEDIATE").await.is_err() {
        return false;
    }
    let mut is_sound = true;
    for job in batch {
        let mut tx = Connection::sqlite(connection);
        is_sound = match job.run(&mut tx).await {
            Ran::Done => true,
            // What has only read can stay: it left nothing behind.
            Ran::Refused => !tx.wrote,
            Ran::Failed(_) => false,
        };
        if !is_sound {
            break;
        }
    }
    if is_sound && execute(connection, "COMMIT").await.is_ok() {
        return true;
    }
    roll_back(connection).await;
    false
}

/// Runs one job in a transaction of its own.
async fn alone(connection: &mut SqliteConnection, job: &mut dyn Job) -> Result<(), StorageError> {
    execute(connection, "BEGIN IMMEDIATE").await?;
    let mut tx = Connection::sqlite(connection);
    let ran = job.run(&mut tx).await;
    let ended = match ran {
        Ran::Done => execute(connection, "COMMIT").await,
        Ran::Refused => {
            roll_back(connection).await;
            return Ok(());
        }
        Ran::Failed(error) => Err(error),
    };
    if ended.is_err() {
        roll_back(connection).await;
    }
    ended
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), StorageError> {
    sqlx::query(sql).execute(connection).await?;
    Ok(())
}

/// Undoes what is left of a transaction. SQLite may have done so by itself, then there is nothing to undo.
async fn roll_back(connection: &mut SqliteConnection) {
    if let Err(error) = execute(connection, "ROLLBACK").await {
        tracing::debug!(error = &error as &dyn std::error::Error, "there was no transaction to roll back");
    }
}
