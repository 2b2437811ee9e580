//! SQLite: one thread writes, and commits the changes that wait together; readers read in their own
//! threads.
//!
//! A commit waits for the disk (`synchronous=FULL` on a write-ahead log), which takes about as long
//! for one change as for many. So the writer collects the changes that came while it waited, runs
//! them in one transaction, and sends their results after that one wait. SQLite has a single write
//! lock, so a second writer would gain nothing.

mod files;
mod queue;
mod read_only;
mod reader;
mod stepped;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection as _, QueryableByName, RunQueryDsl, SqliteConnection};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::backend::Backend;
use super::job::{Job, Owner, Ran};
use super::statement::{StatementText, statement};
use super::{Cause, Connection, Reader, StorageError, migrate};
use crate::causes::Causes;
use files::Files;
pub use files::claim;
use queue::{Queue, Waiting};
pub(super) use read_only::ReadOnlySqlite;
pub(super) use reader::SqliteReader;
use reader::{Idle, execute};
pub use stepped::{Moment, Stepped, Watch};

/// The number of changes in one transaction, at most.
const BATCH: usize = 512;
/// How long a batch runs changes before it commits. So a change waits for the batch before its own for
/// this long, for one change more, and for the commit. If a change of the batch fails, it waits for
/// the changes of the batch twice.
const RUNNING: Duration = Duration::from_millis(50);
/// How long the writer sleeps before it looks for more changes.
const NAP: Duration = Duration::from_micros(100);
/// How long the writer waits for more changes at most, however long the last commit took.
const LONGEST: Duration = Duration::from_millis(20);
/// The page cache of the writer, in KiB.
const WRITER_CACHE: u32 = 32 << 10;
/// The page cache of each reader, in KiB.
const READER_CACHE: u32 = 8 << 10;
/// The number of pages in the log, 64 MiB, before they are copied into the file. Each checkpoint waits
/// for the disk twice, and writes a page once, however often it has changed since the last one: with
/// 4,000 pages, checkpoints took half of the writer's CPU time.
const CHECKPOINT: u32 = 16_000;
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
        let (idle, jobs, writer) = Self::parts(file, BUSY, ()).await?;
        let (end, ended) = oneshot::channel();
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
        Ok(Self {
            idle,
            jobs,
            ended: Mutex::new(Some(ended)),
        })
    }

    /// Opens a database without a thread that writes.
    pub(super) async fn open_stepped<W: Watch>(
        file: &Path,
        watch: W,
    ) -> Result<(Self, Stepped<W>), StorageError> {
        // Another writer in this thread cannot end its transaction while this one waits for it.
        let (idle, jobs, writer) = Self::parts(file, Duration::ZERO, watch).await?;
        let sqlite = Self {
            idle,
            jobs,
            ended: Mutex::default(),
        };
        Ok((sqlite, Stepped::new(writer)))
    }

    async fn parts<W: Watch>(
        file: &Path,
        busy: Duration,
        watch: W,
    ) -> Result<(Arc<Idle>, Queue, Writer<W>), StorageError> {
        let failed = |error: &dyn std::fmt::Display| unopened(file, error);
        let lock = files::lock(file).await?;
        // Nothing else creates the file: once it is open, an empty file in its place would hide
        // that it was deleted.
        let database = files::create(file).map_err(|error| failed(&error))?;
        let mut connection = connect(&database, busy)?;
        migrate::sqlite(&mut connection)?;
        drop(lock);
        let files = Arc::new(Files::of(&database).map_err(|error| failed(&error))?);
        connection.batch_execute(&format!("PRAGMA cache_size = -{WRITER_CACHE}"))?;
        let (jobs, waiting) = Queue::new();
        let writer = Writer {
            connection,
            files: Arc::clone(&files),
            waiting,
            committing: Duration::ZERO,
            watch,
        };
        let idle = Arc::new(Idle {
            files,
            connect: Box::new(move |database| connect(database, busy)),
            connections: Mutex::default(),
        });
        Ok((idle, jobs, writer))
    }
}

/// Connects to a database that exists, whose write lock another connection may hold for the time
/// `busy`. The path has no links.
fn connect(database: &Path, busy: Duration) -> Result<SqliteConnection, StorageError> {
    let uri = files::uri(database, "rw").map_err(|error| unopened(database, &error))?;
    let connection = SqliteConnection::establish(&uri);
    let mut connection = connection.map_err(|error| unopened(database, &error))?;
    // Before the other pragmas, since these may have to wait for a lock as well.
    connection.batch_execute(&format!("PRAGMA busy_timeout = {}", busy.as_millis()))?;
    connection.batch_execute(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = TRUE; \
         PRAGMA wal_autocheckpoint = {CHECKPOINT}; PRAGMA cache_size = -{READER_CACHE}",
    ))?;
    ensure_durable(&mut connection)?;
    Ok(connection)
}

/// What a connection says about its pragmas.
#[derive(QueryableByName)]
struct Pragmas {
    #[diesel(sql_type = Text)]
    journal_mode: String,
    #[diesel(sql_type = BigInt)]
    synchronous: i64,
    #[diesel(sql_type = BigInt)]
    foreign_keys: i64,
}

/// Checks that the pragmas were taken: SQLite does not report one that it ignores, such as the log
/// on a file system without shared memory.
fn ensure_durable(connection: &mut SqliteConnection) -> Result<(), StorageError> {
    /// A commit waits until its changes are on the disk.
    const FULL: i64 = 2;
    let sql = "SELECT journal_mode, synchronous, foreign_keys \
               FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys";
    let taken: Pragmas = diesel::sql_query(sql).get_result(connection)?;
    if (&*taken.journal_mode, taken.synchronous, taken.foreign_keys) == ("wal", FULL, 1) {
        Ok(())
    } else {
        Err(StorageError::Version(format!(
            "SQLite cannot keep this file safe: its journal_mode is {}, synchronous {}, foreign_keys {}, and must be \
             wal, {FULL} and 1; use a file on a local disk",
            taken.journal_mode, taken.synchronous, taken.foreign_keys
        )))
    }
}

fn unopened(file: &Path, error: &dyn std::fmt::Display) -> StorageError {
    StorageError::Unavailable(format!("failed to open {}: {error}", file.display()).into())
}

// No query waits for another one: each has a connection of its own, in its own thread.
impl Backend for Sqlite {
    fn reader<'a>(&'a self, _: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        Box::pin(async { self.idle.reader(false) })
    }

    fn snapshot<'a>(&'a self, _: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        Box::pin(async { self.idle.reader(true) })
    }

    fn submit(&self, job: Box<dyn Job>) {
        self.jobs.submit(job);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // The readers first, so that the writer's connection is the last one, which empties the
            // log.
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
struct Writer<W = ()> {
    connection: SqliteConnection,
    files: Arc<Files>,
    waiting: Waiting,
    /// How long the last commit took.
    committing: Duration,
    watch: W,
}

impl<W: Watch> Writer<W> {
    fn work(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        // The first commit waits for nobody.
        let mut committed_last = 1;
        while let Some(first) = self.waiting.next() {
            batch.push(first);
            committed_last = self.commit(&mut batch, committed_last);
        }
    }

    /// Moves the next waiting change to a batch. Returns false if none waits, or the batch is full.
    /// Changes whose callers went away while they waited are dropped, and cost no statement.
    fn gather(&mut self, batch: &mut Vec<Box<dyn Job>>) -> bool {
        while batch.len() < BATCH
            && let Some(mut job) = self.waiting.try_next()
        {
            if job.claim() {
                batch.push(job);
                return true;
            }
        }
        false
    }

    /// Commits a batch as one transaction, with the changes that come meanwhile, and returns how
    /// many there were. If one of its jobs fails, all run again, each in a savepoint of its own: the
    /// others must not fail with it, and which of them depend on its writes is not known.
    fn commit(&mut self, batch: &mut Vec<Box<dyn Job>>, committed_last: usize) -> usize {
        // Its first change was taken without a look at whether its caller still waits.
        batch.retain_mut(|job| job.claim());
        self.gather(batch);
        if batch.is_empty() {
            return committed_last;
        }
        // A caller that is alone has nobody to wait for.
        if batch.len().max(committed_last) > 1 {
            match self.together(batch, committed_last) {
                Ok(true) => {
                    let committed = batch.len();
                    batch.drain(..).for_each(|job| job.send(Ok(())));
                    return committed;
                }
                Ok(false) => {}
                Err(error) => {
                    // 1, because the next commit need not wait for callers with an error: they may
                    // not come again.
                    self.fail(batch, error);
                    return 1;
                }
            }
        }
        // For a job that is alone, a savepoint would be two statements for nothing.
        let results = if let [job] = &mut batch[..] {
            self.alone(&mut **job).map(|()| vec![Ok(())])
        } else {
            self.apart(batch)
        };
        match results {
            Ok(results) => {
                let committed = batch.len();
                for (job, result) in batch.drain(..).zip(results) {
                    job.send(result);
                }
                committed
            }
            Err(error) => {
                self.fail(batch, error);
                1
            }
        }
    }

    /// Runs all jobs in one transaction, with those that come while they run, and returns whether it
    /// was committed. If not, nothing has changed, except after [`StorageError::Other`], and no result
    /// has been sent.
    ///
    /// Callers whose results were sent together submit their next changes at about the same time, a
    /// moment later. A commit that begins without them makes them wait for two commits, so the
    /// writer waits for as many changes as it has just committed, up to half as long as a commit
    /// takes. It runs each change as it comes, while the other callers still prepare theirs.
    fn together(
        &mut self,
        batch: &mut Vec<Box<dyn Job>>,
        committed_last: usize,
    ) -> Result<bool, StorageError> {
        let (begun, patience) = (Instant::now(), (self.committing / 2).min(LONGEST));
        self.begin()?;
        // Without the wait for another program's lock, which is no reason for a short batch.
        let running = Instant::now();
        let mut ran = 0;
        loop {
            while let Some(job) = batch.get_mut(ran) {
                if !self.run_among(&mut **job) {
                    self.roll_back();
                    return Ok(false);
                }
                ran += 1;
            }
            // One at a time, so that the project whose turn it is has no more of the batch than others.
            if running.elapsed() < RUNNING && self.gather(batch) {
                continue;
            }
            // A wait that is shorter than a nap cannot be measured by naps.
            if ran >= committed_last || begun.elapsed() + NAP > patience {
                break;
            }
            // A channel with a timeout would wake the thread for each change; a nap collects
            // several.
            std::thread::sleep(NAP);
        }
        match self.execute_commit() {
            Ok(()) => Ok(true),
            // Whether it is committed is not known.
            Err(error @ StorageError::Other(_)) => Err(error),
            Err(_) => {
                self.roll_back();
                Ok(false)
            }
        }
    }

    /// Runs a job in the transaction of its batch, and returns whether that can still be committed.
    fn run_among(&mut self, job: &mut dyn Job) -> bool {
        let mut tx = Connection::sqlite(&mut self.connection);
        match run(job, &mut tx) {
            Ran::Done => true,
            // A job that has only read leaves nothing to roll back. A savepoint for each job would
            // allow more, but costs every job what few need.
            Ran::Refused => !tx.wrote,
            Ran::Failed(_) => false,
        }
    }

    /// Runs all jobs in one transaction, each in a savepoint of its own, and returns their results
    /// once it is committed.
    ///
    /// # Errors
    ///
    /// If the transaction as a whole fails, as when the disk does. Then nothing has changed, except
    /// after [`StorageError::Other`].
    fn apart(
        &mut self,
        batch: &mut [Box<dyn Job>],
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        self.begin()?;
        let mut results = Vec::with_capacity(batch.len());
        for job in batch {
            let ended = self.in_savepoint(&mut **job);
            match ended {
                Ok(result) => results.push(result),
                Err(error) => {
                    self.roll_back();
                    return Err(error);
                }
            }
        }
        if let Err(error) = self.execute_commit() {
            self.roll_back();
            return Err(error);
        }
        Ok(results)
    }

    /// Runs a job in a savepoint, which is rolled back if the job refuses or fails. Returns the result
    /// of the job.
    ///
    /// # Errors
    ///
    /// If the transaction is not there any more: SQLite rolls all of it back if the disk is full or
    /// fails. The error is that of the job.
    fn in_savepoint(
        &mut self,
        job: &mut dyn Job,
    ) -> Result<Result<(), StorageError>, StorageError> {
        self.execute(statement!("SAVEPOINT job"))?;
        let result = match run(job, &mut Connection::sqlite(&mut self.connection)) {
            Ran::Done => {
                self.execute(statement!("RELEASE job"))?;
                return Ok(Ok(()));
            }
            Ran::Refused => Ok(()),
            Ran::Failed(error) => Err(error),
        };
        let undone = self
            .execute(statement!("ROLLBACK TO job"))
            .and_then(|()| self.execute(statement!("RELEASE job")));
        match (undone, result) {
            (Ok(()), result) => Ok(result),
            // The error of the job says why SQLite rolled everything back; that of the savepoint
            // only says that it is gone.
            (Err(_), Err(error)) | (Err(error), Ok(())) => Err(error),
        }
    }

    /// Runs one job in a transaction of its own.
    fn alone(&mut self, job: &mut dyn Job) -> Result<(), StorageError> {
        self.begin()?;
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

    /// Fails all jobs of a batch with the error of their transaction. If the file cannot be written,
    /// also those that came meanwhile: they have waited for the same lock, so trying each would only
    /// make each wait again.
    fn fail(&mut self, batch: &mut Vec<Box<dyn Job>>, error: StorageError) {
        let message = std::error::Error::source(&error)
            .map_or_else(|| error.to_string(), ToString::to_string);
        let mut copy: fn(Cause) -> StorageError = StorageError::Other;
        if let StorageError::Unavailable(_) = error {
            copy = StorageError::Unavailable;
            // Taken before any result is sent: a caller that gets its result may free the file and
            // submit another change, which has waited for nothing.
            batch.extend(std::iter::from_fn(|| self.waiting.try_next()));
        }
        // An error cannot be cloned: one caller gets it with its causes, the others its words.
        let last = batch.pop();
        for job in batch.drain(..) {
            job.send(Err(copy(message.clone().into())));
        }
        if let Some(job) = last {
            job.send(Err(error));
        }
    }

    fn begin(&mut self) -> Result<(), StorageError> {
        self.watch.reached(Moment::Begin)?;
        self.ensure_in_place()?;
        // IMMEDIATE takes the write lock at once: a lock that is upgraded later can fail without
        // waiting for it.
        self.execute(statement!("BEGIN IMMEDIATE"))
    }

    /// Commits, and checks that the commit can be acknowledged. Fails with [`StorageError::Other`] if
    /// it is not known whether the transaction is committed.
    fn execute_commit(&mut self) -> Result<(), StorageError> {
        self.watch.reached(Moment::Commit)?;
        let begun = Instant::now();
        let committed = self.execute(statement!("COMMIT"));
        self.committing = begun.elapsed();
        committed.map_err(|error| self.undone(error))?;
        self.watch.reached(Moment::Committed)?;
        // What was committed to a file that is not in its place any more is read again only if
        // somebody puts the file back.
        self.ensure_in_place().map_err(|_| {
            StorageError::Other(
                "the database file was taken away during the commit, so it is not known whether \
                 the change will be there"
                    .into(),
            )
        })
    }

    /// Makes sure that a transaction whose commit has failed with an error stays undone, and returns
    /// the error for its callers.
    ///
    /// SQLite writes the transaction into the log, with the mark of a commit, and then waits for the
    /// disk. If that wait fails, it rolls back, but leaves what it has written where the next
    /// transaction will be. If the process ended before there is one, the next process would find the
    /// mark, and the transaction would be committed. So another transaction overwrites it at once.
    fn undone(&mut self, error: StorageError) -> StorageError {
        self.roll_back();
        // Where the disk was full, the mark was not written.
        if !error.is_of_disk() {
            return error;
        }
        match self.overwrite() {
            Ok(()) => error,
            Err(_) => StorageError::Other(
                "the disk failed during the commit, so it is not known whether it is made".into(),
            ),
        }
    }

    /// Commits a small transaction.
    fn overwrite(&mut self) -> Result<(), StorageError> {
        self.execute(statement!("BEGIN IMMEDIATE"))?;
        // Another value each time: SQLite writes no page that stays the same.
        let written = self.execute(statement!(
            "INSERT INTO service_state (name, value) VALUES ('overwritten', CAST(1 AS BLOB)) ON CONFLICT (name) \
             DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS BLOB)"
        ));
        let committed = written.and_then(|()| self.execute(statement!("COMMIT")));
        if committed.is_err() {
            self.roll_back();
        }
        committed
    }

    fn ensure_in_place(&self) -> Result<(), StorageError> {
        self.files
            .ensure_in_place()
            .map_err(StorageError::Unavailable)
    }

    fn execute(&mut self, text: impl StatementText) -> Result<(), StorageError> {
        Ok(execute(&mut self.connection, text)?)
    }

    /// Rolls a transaction back, unless SQLite has already done so because of an error.
    fn roll_back(&mut self) {
        if let Err(error) = self.execute(statement!("ROLLBACK")) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pragmas_that_sqlite_has_not_taken_are_refused() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("stratus.db");
        std::fs::write(&file, "").expect("the folder is writable");
        let file = file.canonicalize().expect("the file is there");
        let mut connection = connect(&file, Duration::from_secs(1)).expect("it is on a local disk");
        for (pragma, back, said) in [
            (
                "synchronous = NORMAL",
                "synchronous = FULL",
                "synchronous 1,",
            ),
            (
                "foreign_keys = FALSE",
                "foreign_keys = TRUE",
                "foreign_keys 0,",
            ),
            (
                "journal_mode = DELETE",
                "journal_mode = WAL",
                "journal_mode is delete,",
            ),
        ] {
            let mut set = |pragma: &str| {
                let set = connection.batch_execute(&format!("PRAGMA {pragma}"));
                set.expect("SQLite has the pragma");
                ensure_durable(&mut connection)
            };
            let refused = set(pragma).expect_err("it is not taken");
            assert!(refused.to_string().contains(said), "{refused}");
            set(back).expect("it is taken");
        }
    }
}
