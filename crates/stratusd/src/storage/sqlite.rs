//! SQLite: one thread writes, and commits the changes that wait together; readers read in their own
//! threads.
//!
//! A commit waits for the disk (`synchronous=FULL` on a write-ahead log), which takes about as long
//! for one change as for many. So the writer collects the changes that came while it waited, runs
//! them in one transaction, and sends their results after that one wait. SQLite has a single write
//! lock, so a second writer would gain nothing.

mod reader;

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection as _, SqliteConnection};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::backend::Backend;
use super::job::{Job, Queue, Ran, Waiting};
use super::reader::Held;
use super::{Connection, Reader, StorageError, migrate};
use crate::causes::Causes;
pub(super) use reader::SqliteReader;
use reader::{Idle, execute};

/// The number of changes in one transaction, at most.
const BATCH: usize = 512;
/// How long the writer sleeps before it looks for more changes.
const NAP: Duration = Duration::from_micros(100);
/// How long the writer waits for more changes at most, however long the last commit took.
const LONGEST: Duration = Duration::from_millis(20);
/// The page cache of the writer, in KiB.
const WRITER_CACHE: u32 = 32 << 10;
/// The page cache of each reader, in KiB.
const READER_CACHE: u32 = 8 << 10;
/// The number of pages in the log before they are copied into the file. Each checkpoint waits for
/// the disk twice.
const CHECKPOINT: u32 = 4000;
/// How often a waiting process tries the lock beside the file.
const LOOK: Duration = Duration::from_millis(50);
/// How long another process may hold the file's write lock before a change is refused.
const BUSY: Duration = Duration::from_secs(5);

pub(super) struct Sqlite {
    idle: Arc<Idle>,
    jobs: Queue,
    /// Resolves when the writer has ended.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

impl Sqlite {
    pub(super) async fn open(file: &Path) -> Result<Self, StorageError> {
        let lock = lock_file(file).await?;
        let mut connection = connect(file)?;
        migrate::sqlite(&mut connection)?;
        drop(lock);
        connection.batch_execute(&format!("PRAGMA cache_size = -{WRITER_CACHE}"))?;
        let (jobs, waiting) = Queue::new();
        let (end, ended) = oneshot::channel();
        let writer = Writer {
            connection,
            waiting,
            committing: Duration::ZERO,
        };
        let work = move || {
            // The writer closes its connection when it ends; the last connection copies the log
            // into the file.
            writer.work();
            let _ = end.send(());
        };
        let started = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(work);
        started.map_err(|error| StorageError::Other(error.into()))?;
        let idle = Arc::new(Idle {
            file: file.to_owned(),
            connections: Mutex::default(),
        });
        Ok(Self {
            idle,
            jobs,
            ended: Mutex::new(Some(ended)),
        })
    }

    fn reader(&self, is_snapshot: bool) -> Result<Reader, StorageError> {
        let idle = self
            .idle
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut connection = if let Some(connection) = idle {
            connection
        } else {
            let mut connection = connect(&self.idle.file)?;
            // A statement that writes through a reader by mistake fails.
            connection.batch_execute("PRAGMA query_only = TRUE")?;
            connection
        };
        if is_snapshot {
            execute(&mut connection, "BEGIN")?;
        }
        let reader = SqliteReader {
            connection: Some(connection),
            is_snapshot,
            idle: Arc::clone(&self.idle),
        };
        Ok(Reader(Held::Sqlite(reader)))
    }
}

fn connect(file: &Path) -> Result<SqliteConnection, StorageError> {
    let failed = |error: &dyn std::fmt::Display| {
        StorageError::Unavailable(format!("failed to open {}: {error}", file.display()).into())
    };
    // An absolute path never begins with `file:`, which SQLite would parse as a URI.
    let path = std::path::absolute(file).map_err(|error| failed(&error))?;
    let path = path
        .to_str()
        .ok_or_else(|| failed(&"its path is not in UTF-8"))?;
    make_private(file).map_err(|error| failed(&error))?;
    let mut connection = SqliteConnection::establish(path).map_err(|error| failed(&error))?;
    // Before the other pragmas, since these may have to wait for a lock as well.
    connection.batch_execute(&format!("PRAGMA busy_timeout = {}", BUSY.as_millis()))?;
    connection.batch_execute(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = TRUE; \
         PRAGMA wal_autocheckpoint = {CHECKPOINT}; PRAGMA cache_size = -{READER_CACHE}",
    ))?;
    Ok(connection)
}

/// Creates a file that does not exist yet, readable by its owner alone. SQLite gives its log the
/// same permissions.
///
/// An existing file is not opened: when a process closes any handle of a file, it loses all POSIX
/// locks on it, also those of SQLite's connections, and the next process to open the database takes
/// it for abandoned (<https://sqlite.org/howtocorrupt.html>, section 2.2).
fn make_private(file: &Path) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Opens the file whose name is the database's plus an ending. Links are followed first, so that all
/// names of a database have the same lock.
fn beside(file: &Path, ending: &str) -> io::Result<File> {
    make_private(file)?;
    let mut path = file.canonicalize()?.into_os_string();
    path.push(ending);
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    // A process that can open the file can lock it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Waits for the lock beside a database. It polls instead of blocking, so that the wait can be
/// cancelled.
async fn lock_file(file: &Path) -> Result<File, StorageError> {
    let failed = |error: io::Error| {
        StorageError::InUse(format!("failed to lock {}: {error}", file.display()))
    };
    let lock = beside(file, ".lock").map_err(failed)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// Claims a database for one service. Two services that reconcile the same file would take each
/// step twice.
///
/// # Errors
///
/// If another service has claimed the database.
pub fn claim(file: &Path) -> Result<File, StorageError> {
    let failed =
        |words: String| StorageError::InUse(format!("failed to claim {}: {words}", file.display()));
    let claim = beside(file, ".serve").map_err(|error| failed(error.to_string()))?;
    match claim.try_lock() {
        Ok(()) => Ok(claim),
        Err(TryLockError::WouldBlock) => Err(failed(
            "another stratusd serves it; use PostgreSQL for several replicas".to_owned(),
        )),
        Err(TryLockError::Error(error)) => Err(failed(error.to_string())),
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
        self.jobs.submit(job);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.idle
                .connections
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
            self.jobs.close();
            let ended = self
                .ended
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(ended) = ended {
                let _ = ended.await;
            }
        })
    }
}

/// Runs the submitted changes, in batches.
struct Writer {
    connection: SqliteConnection,
    waiting: Waiting,
    /// How long the last commit took.
    committing: Duration,
}

impl Writer {
    fn work(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        // The first commit waits for nobody.
        let mut committed_last = 1;
        while let Some(first) = self.waiting.blocking_recv() {
            batch.push(first);
            self.gather(&mut batch, committed_last);
            committed_last = batch.len();
            self.commit(&mut batch);
        }
    }

    /// Collects the changes that have come. Callers whose results were sent together submit their
    /// next changes at about the same time, a moment later. A commit that begins without them makes
    /// them wait for two commits, so the writer waits for as many changes as it has just committed,
    /// up to half as long as a commit takes.
    fn gather(&mut self, batch: &mut Vec<Box<dyn Job>>, committed_last: usize) {
        let (begun, patience) = (Instant::now(), (self.committing / 2).min(LONGEST));
        loop {
            batch.extend(self.come().take(BATCH - batch.len()));
            // A wait that is shorter than a nap cannot be measured by naps.
            if batch.len() >= committed_last || begun.elapsed() + NAP > patience {
                return;
            }
            // A channel with a timeout would wake the thread for each change; a nap collects
            // several.
            std::thread::sleep(NAP);
        }
    }

    /// Returns the changes that have come by now.
    fn come(&mut self) -> impl Iterator<Item = Box<dyn Job>> {
        std::iter::from_fn(|| self.waiting.try_recv().ok())
    }

    /// Commits a batch as one transaction. If one of its jobs fails, each job runs again in a
    /// transaction of its own: the others must not fail with it, and which of them depend on its
    /// writes is not known.
    fn commit(&mut self, batch: &mut Vec<Box<dyn Job>>) {
        // Changes whose callers went away while they waited cost no statement.
        batch.retain_mut(|job| job.claim());
        if batch.len() > 1 {
            match self.together(batch) {
                Ok(true) => return batch.drain(..).for_each(|job| job.send(Ok(()))),
                Err(error @ StorageError::Unavailable(_)) => {
                    return self.fail(batch.drain(..), &error);
                }
                Ok(false) | Err(_) => {}
            }
        }
        // Alone, each job waits for the disk. That is slower, but rare: operations of the API check
        // before they write.
        let mut jobs = batch.drain(..);
        while let Some(mut job) = jobs.next() {
            match self.alone(&mut *job) {
                Err(error @ StorageError::Unavailable(_)) => {
                    return self.fail(std::iter::once(job).chain(jobs), &error);
                }
                committed => job.send(committed),
            }
        }
    }

    /// Runs all jobs in one transaction, and returns whether it was committed. If not, nothing has
    /// changed and no result has been sent.
    fn together(&mut self, batch: &mut [Box<dyn Job>]) -> Result<bool, StorageError> {
        // IMMEDIATE takes the write lock at once: a lock that is upgraded later can fail without
        // waiting for it.
        self.execute("BEGIN IMMEDIATE")?;
        let mut is_sound = true;
        for job in batch {
            let mut tx = Connection::sqlite(&mut self.connection);
            is_sound = match run(&mut **job, &mut tx) {
                Ran::Done => true,
                // A job that has only read leaves nothing to roll back. A savepoint for each job
                // would allow more, but costs every job what few need.
                Ran::Refused => !tx.wrote,
                Ran::Failed(_) => false,
            };
            if !is_sound {
                break;
            }
        }
        if is_sound && self.execute_commit().is_ok() {
            return Ok(true);
        }
        self.roll_back();
        Ok(false)
    }

    /// Runs one job in a transaction of its own.
    fn alone(&mut self, job: &mut dyn Job) -> Result<(), StorageError> {
        self.execute("BEGIN IMMEDIATE")?;
        let ended = match run(job, &mut Connection::sqlite(&mut self.connection)) {
            Ran::Done => self.execute_commit(),
            Ran::Refused => {
                self.roll_back();
                return Ok(());
            }
            Ran::Failed(error) => Err(error),
        };
        if ended.is_err() {
            self.roll_back();
        }
        ended
    }

    /// Fails jobs, and all that came meanwhile, because the file cannot be written. The later ones
    /// have waited for the same lock, so trying each would only make each wait again.
    fn fail(&mut self, jobs: impl Iterator<Item = Box<dyn Job>>, error: &StorageError) {
        let message =
            std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        // Taken before any result is sent: a caller that gets its result may free the file and
        // submit another change, which has waited for nothing.
        let later: Vec<_> = self.come().collect();
        for job in jobs.chain(later) {
            job.send(Err(StorageError::Unavailable(message.clone().into())));
        }
    }

    fn execute_commit(&mut self) -> Result<(), StorageError> {
        let begun = Instant::now();
        let committed = self.execute("COMMIT");
        self.committing = begun.elapsed();
        committed
    }

    fn execute(&mut self, sql: &'static str) -> Result<(), StorageError> {
        Ok(execute(&mut self.connection, sql)?)
    }

    /// Rolls a transaction back, unless SQLite has already done so because of an error.
    fn roll_back(&mut self) {
        if let Err(error) = self.execute("ROLLBACK") {
            tracing::debug!(error = %Causes(&error), "there was no transaction to roll back");
        }
    }
}

/// Runs a job to its end. A change awaits nothing but statements, and these never suspend on
/// SQLite, so polling it once is enough and the writer needs no runtime.
fn run(job: &mut dyn Job, tx: &mut Connection<'_>) -> Ran {
    job.run(tx)
        .now_or_never()
        .unwrap_or(Ran::Failed(StorageError::Closed))
}
