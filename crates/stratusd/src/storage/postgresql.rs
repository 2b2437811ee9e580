//! PostgreSQL: a transaction for each change, run again when a concurrent one got in between.
//!
//! Changes have connections of their own, each with a worker that takes one change after the other, so that a reading
//! never waits for changes, and a change for no more than a worker.

mod address;
mod link;
mod reader;
mod server;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{Object, Pool, PoolError};
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

use super::backend::Backend;
use super::job::{Job, Queue, Ran, Waiting};
use super::reader::Held;
use super::{Connection, Reader, StorageError, StoreConfig, WAIT, migrate};
use crate::world::World;
pub use address::{Address, AddressError};
pub(super) use link::Link;
pub(super) use reader::PostgresReader;
use server::Server;

/// How often a change is run at most before it is refused as a conflict.
const RUNS: u32 = 8;
/// How long a change waits at most before it is run again, for each time that it was run.
const STEP_ASIDE: Duration = Duration::from_millis(8);
/// How often one is run at most that fails for a reason without a name: it may be a conflict that diesel does not know,
/// such as a deadlock where the server speaks another language than English.
const NAMELESS_RUNS: u32 = 3;

pub(super) struct Postgres {
    server: Server,
    readers: Pool<Server>,
    jobs: Queue,
    workers: TaskTracker,
}

impl Postgres {
    /// Half of the connections are for changes, the others for reading; there is one of each at least.
    pub(super) async fn open(url: &str, config: &StoreConfig) -> Result<Self, StorageError> {
        let StoreConfig {
            connections,
            patience,
            world,
            ..
        } = config;
        let address: Address = url
            .parse()
            .map_err(|error: AddressError| StorageError::Other(error.into()))?;
        let server = Server::new(&address, *patience, world.clone())?;
        migrate::postgres(server.connect().await?.into_inner()).await?;
        let writers = connections.div_ceil(2);
        let readers = usize::try_from((connections - writers).max(1)).unwrap_or(usize::MAX);
        let pool = Pool::builder(server.clone()).max_size(readers).build();
        let readers = pool.map_err(|error| StorageError::Other(error.into()))?;
        let (jobs, waiting) = Queue::new();
        let (waiting, workers) = (Arc::new(Mutex::new(waiting)), TaskTracker::new());
        for _ in 0..writers {
            workers.spawn(
                Worker {
                    server: server.clone(),
                    world: world.clone(),
                    link: None,
                }
                .work(Arc::clone(&waiting)),
            );
        }
        workers.close();
        Ok(Self {
            server,
            readers,
            jobs,
            workers,
        })
    }

    async fn pooled(&self) -> Result<Object<Server>, StorageError> {
        let busy = || {
            Err(PoolError::Backend(StorageError::Unavailable(
                "all connections are taken".into(),
            )))
        };
        let taken = tokio::time::timeout(WAIT, self.readers.get())
            .await
            .unwrap_or_else(|_| busy());
        taken.map_err(|error| match error {
            PoolError::Backend(error) => error,
            other => StorageError::Unavailable(other.into()),
        })
    }
}

impl Backend for Postgres {
    fn reader(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async {
            let link = Box::new(self.pooled().await?);
            Ok(Reader(Held::Postgres(PostgresReader {
                link,
                is_snapshot: false,
            })))
        })
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async {
            let mut reader = PostgresReader {
                link: Box::new(self.pooled().await?),
                is_snapshot: true,
            };
            reader
                .link
                .control("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                .await?;
            Ok(Reader(Held::Postgres(reader)))
        })
    }

    fn submit(&self, job: Box<dyn Job>) {
        self.jobs.submit(job);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.jobs.close();
            // Longer than this only takes a server that does not answer.
            let _ = tokio::time::timeout(self.server.patience() + WAIT, self.workers.wait()).await;
            self.readers.close();
            self.server.close().await;
        })
    }
}

/// Makes changes, one after the other, on a connection of its own.
struct Worker {
    server: Server,
    world: World,
    /// Made when it is needed, and again after it has failed.
    link: Option<Link>,
}

/// How a run of a change failed.
enum Failure {
    /// Nothing of it was made, and the next run may do better.
    Again(StorageError),
    /// Another run would be no use, or it is open whether it was made.
    Final(StorageError),
}

impl Worker {
    async fn work(mut self, waiting: Arc<Mutex<Waiting>>) {
        // The first change shall not wait for this. Whatever is wrong is told to whoever needs it.
        self.link = self.server.connect().await.ok();
        loop {
            let taken = waiting.lock().await.recv().await;
            let Some(mut job) = taken else { break };
            if job.begin() {
                let committed = self.run(&mut *job).await;
                job.answer(committed);
            }
        }
    }

    /// Runs a job until no concurrent change gets in between.
    async fn run(&mut self, job: &mut dyn Job) -> Result<(), StorageError> {
        let mut runs = 1;
        loop {
            match self.once(job).await {
                Ok(()) => return Ok(()),
                Err(Failure::Again(error))
                    if runs
                        < if error.is_conflict() {
                            RUNS
                        } else {
                            NAMELESS_RUNS
                        } =>
                {
                    // Those in each other's way step aside, each for as long as it happens to draw.
                    let [drawn] = self.world.random();
                    tokio::time::sleep(STEP_ASIDE * runs * u32::from(drawn) / u32::from(u8::MAX))
                        .await;
                    runs += 1;
                }
                Err(Failure::Again(error) | Failure::Final(error)) => return Err(error),
            }
        }
    }

    async fn once(&mut self, job: &mut dyn Job) -> Result<(), Failure> {
        let mut link = self.begun().await.map_err(Failure::Final)?;
        let mut tx = Connection::postgres(&mut link);
        let ended = match job.run(&mut tx).await {
            Ran::Done => link.control("COMMIT").await.map_err(|error| match error {
                // The server has rolled back by itself.
                StorageError::Conflict => Failure::Again(StorageError::Conflict),
                // A lost connection leaves open whether this was made, so it is not the same as unavailable.
                StorageError::Unavailable(error) => Failure::Final(StorageError::Other(error)),
                other => Failure::Final(other),
            }),
            Ran::Refused => {
                // A connection that takes no more ends its transaction by itself.
                if link.control("ROLLBACK").await.is_ok() {
                    self.link = Some(link);
                }
                return Ok(());
            }
            Ran::Failed(error @ (StorageError::Unavailable(_) | StorageError::Closed)) => {
                Err(Failure::Final(error))
            }
            Ran::Failed(error) => {
                link.control("ROLLBACK").await.map_err(Failure::Final)?;
                self.link = Some(link);
                let may_pass = error.is_conflict() || error.is_nameless();
                return Err(if may_pass {
                    Failure::Again(error)
                } else {
                    Failure::Final(error)
                });
            }
        };
        // After a failure of its own a connection is not used again.
        if matches!(ended, Ok(()) | Err(Failure::Again(_))) {
            self.link = Some(link);
        }
        ended
    }

    /// A connection with a transaction begun. One that was lost while it waited is made again.
    async fn begun(&mut self) -> Result<Link, StorageError> {
        if let Some(mut link) = self.link.take()
            && link.control("BEGIN").await.is_ok()
        {
            return Ok(link);
        }
        let mut link = self.server.connect().await?;
        link.control("BEGIN").await?;
        Ok(link)
    }
}
