//! PostgreSQL: a transaction for each change, run again when a concurrent one got in between.
//!
//! Changes have connections of their own, each with a worker that takes one change after the other: a pool would ask
//! a connection whether it still lives each time that it is given back, which is a round trip more for every change.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions, Connection as _};
use tokio::sync::{Mutex, mpsc};
use tokio_util::task::TaskTracker;

use super::job::{Job, Ran};
use super::reader::Held;
use super::{Backend, Connection, Reader, StorageError, migrate};

/// How often a change is run at most before it is refused as a conflict.
const RUNS: u32 = 8;
/// How long a connection may take before whoever needs it is refused as unavailable.
const WAIT: Duration = Duration::from_secs(5);

pub(super) struct Postgres {
    readers: PgPool,
    /// Gone once the store is closed: then the workers end what is there, and themselves.
    jobs: RwLock<Option<mpsc::UnboundedSender<Box<dyn Job>>>>,
    workers: TaskTracker,
}

/// Changes that no worker has taken yet.
type Waiting = Arc<Mutex<mpsc::UnboundedReceiver<Box<dyn Job>>>>;

impl Postgres {
    /// Half of the connections are for changes, the others for reading; there is one of each at least.
    pub(super) async fn open(url: &str, connections: u32) -> Result<Self, StorageError> {
        let options: PgConnectOptions = url.parse()?;
        let options = options.application_name("stratusd").statement_cache_capacity(256);
        let writers = connections.div_ceil(2);
        // A connection is looked at when it is given back; to ask again when it is taken would cost each request a
        // round trip more.
        let readers = PgPoolOptions::new()
            .max_connections((connections - writers).max(1))
            .acquire_timeout(WAIT)
            .test_before_acquire(false)
            .connect_with(options.clone())
            .await?;
        migrate::postgres(&readers).await?;
        let (jobs, waiting) = mpsc::unbounded_channel();
        let (waiting, workers) = (Arc::new(Mutex::new(waiting)), TaskTracker::new());
        for _ in 0..writers {
            workers.spawn(Worker { options: options.clone(), connection: None }.work(Arc::clone(&waiting)));
        }
        workers.close();
        Ok(Self { readers, jobs: RwLock::new(Some(jobs)), workers })
    }
}

impl Backend for Postgres {
    fn reader(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async { Ok(Reader(Held::Postgres(self.readers.acquire().await?))) })
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async {
            let begun = self.readers.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
            Ok(Reader(Held::PostgresSnapshot(begun)))
        })
    }

    fn submit(&self, job: Box<dyn Job>) {
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
        let unsent = match &*jobs {
            Some(jobs) => jobs.send(job).err().map(|unsent| unsent.0),
            None => Some(job),
        };
        if let Some(job) = unsent {
            job.answer(Err(StorageError::Closed));
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.jobs.write().unwrap_or_else(PoisonError::into_inner).take();
            self.workers.wait().await;
            self.readers.close().await;
        })
    }
}

/// Makes changes, one after the other, on a connection of its own.
struct Worker {
    options: PgConnectOptions,
    /// Made when it is needed, and again after it has failed.
    connection: Option<PgConnection>,
}

impl Worker {
    async fn work(mut self, waiting: Waiting) {
        // The first change shall not wait for this. Whatever is wrong is told to whoever needs it.
        self.connection = self.options.connect().await.ok();
        loop {
            let taken = waiting.lock().await.recv().await;
            let Some(mut job) = taken else { break };
            let committed = self.run(&mut *job).await;
            job.answer(committed);
        }
        if let Some(connection) = self.connection.take() {
            // The server notices by itself if this fails.
            let _ = connection.close().await;
        }
    }

    /// Runs a job until no concurrent change gets in between.
    async fn run(&mut self, job: &mut dyn Job) -> Result<(), StorageError> {
        let mut runs = 1;
        loop {
            match self.once(job).await {
                Err(StorageError::Conflict) if runs < RUNS => {
                    // Those in each other's way step aside for differently long.
                    let jitter = u64::from(std::process::id().wrapping_mul(runs) % 3);
                    tokio::time::sleep(Duration::from_millis(u64::from(runs) * 2 + jitter)).await;
                    runs += 1;
                }
                ended => return ended,
            }
        }
    }

    async fn once(&mut self, job: &mut dyn Job) -> Result<(), StorageError> {
        let mut connection = self.begun().await?;
        let mut tx = Connection::postgres(&mut connection);
        let ended = match job.run(&mut tx).await {
            // A lost connection leaves open whether this was made, so it is not the same as unavailable.
            Ran::Done => execute(&mut connection, "COMMIT").await.map_err(|error| match error {
                StorageError::Unavailable(error) => StorageError::Other(error),
                other => other,
            }),
            Ran::Refused => execute(&mut connection, "ROLLBACK").await,
            Ran::Failed(error) => {
                execute(&mut connection, "ROLLBACK").await?;
                self.connection = Some(connection);
                return Err(error);
            }
        };
        // After a failure of its own a connection is not used again. A conflict that shows at the commit is no such
        // failure: the server has rolled back by itself.
        if matches!(ended, Ok(()) | Err(StorageError::Conflict)) {
            self.connection = Some(connection);
        }
        ended
    }

    /// A connection with a transaction begun. One that was lost while it waited is made again.
    async fn begun(&mut self) -> Result<PgConnection, StorageError> {
        if let Some(mut connection) = self.connection.take()
            && execute(&mut connection, "BEGIN").await.is_ok()
        {
            return Ok(connection);
        }
        let connect = tokio::time::timeout(WAIT, self.options.connect());
        let mut connection = connect.await.map_err(|_| sqlx::Error::PoolTimedOut)??;
        execute(&mut connection, "BEGIN").await?;
        Ok(connection)
    }
}

async fn execute(connection: &mut PgConnection, sql: &'static str) -> Result<(), StorageError> {
    sqlx::raw_sql(sql).execute(connection).await?;
    Ok(())
}
