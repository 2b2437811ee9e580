//! SQLite: one thread writes, whoever reads does so by itself, and changes that wait are committed together.
//!
//! Each commit waits for the disk (`synchronous=FULL` on a write-ahead log), which costs about as much for one
//! change as for many. So a writer takes whatever has come while it waited, runs it as one transaction, and
//! acknowledges all of it after that one wait.

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

/// Changes that one transaction holds at most.
const BATCH: usize = 512;
/// How long the writer sleeps before it looks again whether more has come.
const NAP: Duration = Duration::from_micros(100);
/// How long it waits at most, however long a commit has taken.
const LONGEST: Duration = Duration::from_millis(20);
/// How much of the file the writer keeps in memory, in KiB.
const WRITER_CACHE: u32 = 32 << 10;
/// How much of it each reader keeps, in KiB.
const READER_CACHE: u32 = 8 << 10;
/// How many pages the log has before it is folded into the file. Each fold waits for the disk twice.
const CHECKPOINT: u32 = 4000;
/// How often whoever waits for the lock beside the file looks whether it is free.
const LOOK: Duration = Duration::from_millis(50);
/// How long another process may hold the file's write lock before a change is refused.
const BUSY: Duration = Duration::from_secs(5);

pub(super) struct Sqlite {
    idle: Arc<Idle>,
    jobs: Queue,
    /// Told when the writer has ended.
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
            // Its connection is closed with it; the last one out folds the log into the file.
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
            // A reader that writes by mistake fails.
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
    let told = |error: &dyn std::fmt::Display| {
        StorageError::Unavailable(format!("failed to open {}: {error}", file.display()).into())
    };
    // SQLite would take a name that begins with `file:` for an address.
    let path = std::path::absolute(file).map_err(|error| told(&error))?;
    let path = path
        .to_str()
        .ok_or_else(|| told(&"its path is not in UTF-8"))?;
    make_private(file).map_err(|error| told(&error))?;
    let mut connection = SqliteConnection::establish(path).map_err(|error| told(&error))?;
    // First of all, since the others may have to wait as well.
    connection.batch_execute(&format!("PRAGMA busy_timeout = {}", BUSY.as_millis()))?;
    connection.batch_execute(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = TRUE; \
         PRAGMA wal_autocheckpoint = {CHECKPOINT}; PRAGMA cache_size = -{READER_CACHE}",
    ))?;
    Ok(connection)
}

/// Makes a file that is not there yet, for nobody else to read. SQLite gives its log the same permissions.
///
/// One that is there is not opened: a process that closes a file loses all locks that it has on it, those of SQLite's
/// connections too, and whoever opens the database next takes it for abandoned (<https://sqlite.org/howtocorrupt.html>,
/// section 2.2).
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

/// Opens the file beside a database that has another ending; the database may be named by a link.
fn beside(file: &Path, ending: &str) -> io::Result<File> {
    make_private(file)?;
    let mut path = file.canonicalize()?.into_os_string();
    path.push(ending);
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    // Whoever can open it can lock it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Waits for the lock beside a database, so that whoever waits can be told to stop.
async fn lock_file(file: &Path) -> Result<File, StorageError> {
    let told = |error: io::Error| {
        StorageError::InUse(format!("failed to lock {}: {error}", file.display()))
    };
    let lock = beside(file, ".lock").map_err(told)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
            Err(TryLockError::Error(error)) => return Err(told(error)),
        }
    }
}

/// Claims a database for one service: two that reconcile the same file would do each step twice.
///
/// # Errors
///
/// If another service has it.
pub fn claim(file: &Path) -> Result<File, StorageError> {
    let told =
        |words: String| StorageError::InUse(format!("failed to claim {}: {words}", file.display()));
    let claim = beside(file, ".serve").map_err(|error| told(error.to_string()))?;
    match claim.try_lock() {
        Ok(()) => Ok(claim),
        Err(TryLockError::WouldBlock) => Err(told(
            "another stratusd serves it; use PostgreSQL for several replicas".to_owned(),
        )),
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

/// Runs whatever comes, together where it has come together.
struct Writer {
    connection: SqliteConnection,
    waiting: Waiting,
    /// How long the last commit waited for the disk.
    committing: Duration,
}

impl Writer {
    fn work(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut answered = 1;
        while let Some(first) = self.waiting.blocking_recv() {
            batch.push(first);
            self.gather(&mut batch, answered);
            answered = batch.len();
            self.commit(&mut batch);
        }
    }

    /// Takes what has come. Callers that were answered together come again together, but not at once: a commit that
    /// begins without them leaves them to wait for two, so they are waited for, up to half as long as a commit takes.
    fn gather(&mut self, batch: &mut Vec<Box<dyn Job>>, answered: usize) {
        let (begun, patience) = (Instant::now(), (self.committing / 2).min(LONGEST));
        loop {
            batch.extend(self.come().take(BATCH - batch.len()));
            // Nothing can be waited for that is shorter than a nap.
            if batch.len() >= answered || begun.elapsed() + NAP > patience {
                return;
            }
            std::thread::sleep(NAP);
        }
    }

    /// What has come by now.
    fn come(&mut self) -> impl Iterator<Item = Box<dyn Job>> {
        std::iter::from_fn(|| self.waiting.try_recv().ok())
    }

    /// Commits a batch as one transaction; where one of its jobs spoils that, each in one of its own.
    fn commit(&mut self, batch: &mut Vec<Box<dyn Job>>) {
        batch.retain_mut(|job| job.begin());
        if batch.len() > 1 {
            match self.together(batch) {
                Ok(true) => return batch.drain(..).for_each(|job| job.answer(Ok(()))),
                Err(error @ StorageError::Unavailable(_)) => {
                    return self.refuse(batch.drain(..), &error);
                }
                Ok(false) | Err(_) => {}
            }
        }
        let mut jobs = batch.drain(..);
        while let Some(mut job) = jobs.next() {
            match self.alone(&mut *job) {
                Err(error @ StorageError::Unavailable(_)) => {
                    return self.refuse(std::iter::once(job).chain(jobs), &error);
                }
                committed => job.answer(committed),
            }
        }
    }

    /// Whether all jobs are committed now. Otherwise none is, and nobody was answered.
    fn together(&mut self, batch: &mut [Box<dyn Job>]) -> Result<bool, StorageError> {
        self.execute("BEGIN IMMEDIATE")?;
        let mut is_sound = true;
        for job in batch {
            let mut tx = Connection::sqlite(&mut self.connection);
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

    /// Refuses jobs, and whatever came meanwhile, because nobody can write at the moment: it has waited as well.
    fn refuse(&mut self, jobs: impl Iterator<Item = Box<dyn Job>>, error: &StorageError) {
        let told =
            std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        for job in jobs.chain(self.come()) {
            job.answer(Err(StorageError::Unavailable(told.clone().into())));
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

    /// Undoes what is left of a transaction. SQLite may have done so by itself, then there is nothing to undo.
    fn roll_back(&mut self) {
        if let Err(error) = self.execute("ROLLBACK") {
            tracing::debug!(error = %Causes(&error), "there was no transaction to roll back");
        }
    }
}

/// Runs a job to its end: there is nothing in it that waits, but for statements, which SQLite ends before they return.
fn run(job: &mut dyn Job, tx: &mut Connection<'_>) -> Ran {
    job.run(tx)
        .now_or_never()
        .unwrap_or(Ran::Failed(StorageError::Closed))
}
