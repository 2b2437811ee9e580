//! PostgreSQL: a transaction for each change, which runs again when a concurrent change has
//! committed first.
//!
//! Changes have connections of their own, each with a worker that runs one change after the other.
//! So a query never waits for the connection of a change, and a change waits only for a free
//! worker. The queries of the projects have the other connections in turn (`places.rs`), and those of long pages have
//! connections of their own. A change that waits for a lock frees its worker soon (`schedule.rs`).

mod active;
mod address;
mod cancel;
mod link;
mod places;
mod read_only;
mod reader;
mod schedule;
mod server;
mod session;
mod socket;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{Object, Pool, PoolError};
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;

use super::backend::Backend;
use super::job::{Job, Owner, Ran};
use super::lines::Room;
use super::reader::Held;
use super::{Connection, Reader, StorageError, StoreConfig, WAIT, migrate};
use crate::world::World;
use active::Active;
pub use address::{Address, AddressError};
pub(super) use link::Link;
use link::Uncommitted;
use places::{Length, Places};
pub(super) use read_only::ReadOnlyPostgres;
pub(super) use reader::PostgresReader;
use schedule::Schedule;
use server::Server;
use session::Limits;

/// Of so many connections for queries, one is for long pages.
const PARTS: usize = 4;
/// The maximum number of runs of a change that conflicts with concurrent changes, also if it gives its
/// connection back in between. After the last it fails with [`StorageError::Conflict`].
const RUNS: u32 = 8;
/// The maximum wait before the second run of a change. Before a later run, it is multiplied by the
/// number of runs so far.
const STEP_ASIDE: Duration = Duration::from_millis(8);
/// The maximum number of runs of a change that fails with an error code unknown to diesel. The
/// error may be a conflict, such as a deadlock on a server whose messages are not in English.
const NAMELESS_RUNS: u32 = 3;

pub(super) struct Postgres {
    server: Server,
    queries: Queries,
    /// Those of long pages. `None` if there are too few connections for queries.
    long_queries: Option<Queries>,
    schedule: Arc<Schedule>,
    workers: TaskTracker,
}

impl Postgres {
    /// Connects to the database at a URL, migrates it, and starts the workers. Half of the
    /// connections are for changes, the others for queries; there is at least one of each. Of three or more
    /// for queries, a quarter are for long pages, which are read in the runtime `long`.
    pub(super) async fn open(
        url: &str,
        config: &StoreConfig,
        long: &Handle,
    ) -> Result<Self, StorageError> {
        let StoreConfig {
            connections,
            patience,
            silence,
            lock_wait,
            world,
            ..
        } = config;
        let address: Address = url
            .parse()
            .map_err(|error: AddressError| StorageError::Other(error.into()))?;
        let writers = connections.div_ceil(2);
        let readers = usize::try_from((connections - writers).max(1)).unwrap_or(usize::MAX);
        let backends = usize::try_from(writers)
            .unwrap_or(usize::MAX)
            .saturating_add(readers)
            .min(Semaphore::MAX_PERMITS);
        let limits = Limits::new(*patience, *silence);
        let server = Server::new(&address, backends, limits, world.clone())?;
        let mut connection = server.connect_to_migrate().await?;
        session::warn_of_risks(&mut connection).await?;
        migrate::postgres(connection).await?;
        let active = Arc::new(Active::default());
        let room = Room::of_queries();
        let queries = |count: usize, server: Server| {
            let places = Places::new(count, room.clone(), Arc::clone(&active));
            Queries::new(server, count, places)
        };
        // A project has all but one of those that are not for long pages, so there must be two.
        let of_long = match readers {
            ..=2 => 0,
            readers => readers.div_ceil(PARTS),
        };
        let short = readers - of_long;
        let long_queries = (of_long > 0).then(|| queries(of_long, server.on(long.clone())));
        let (queries, long_queries) = (queries(short, server.clone())?, long_queries.transpose()?);
        let schedule = Arc::new(Schedule::new(writers, *lock_wait, active));
        let workers = TaskTracker::new();
        for _ in 0..writers {
            let worker = Worker {
                server: server.with_lock_wait(*lock_wait),
                lock_wait: *lock_wait,
                world: world.clone(),
                link: None,
                schedule: Arc::clone(&schedule),
            };
            workers.spawn(worker.work());
        }
        // Waiting for the workers only ends once no more of them can be added.
        workers.close();
        Ok(Self {
            server,
            queries,
            long_queries,
            schedule,
            workers,
        })
    }
}

/// Connections for queries, and the queries that wait for them.
struct Queries {
    pool: Pool<Server>,
    /// A place for each connection of the pool.
    places: Places,
}

impl Queries {
    fn new(server: Server, count: usize, places: Places) -> Result<Self, StorageError> {
        let pool = Pool::builder(server).max_size(count).build();
        let pool = pool.map_err(|error| StorageError::Other(error.into()))?;
        Ok(Self { pool, places })
    }

    /// Waits for a place among the queries, and then for a connection, both for at most [`WAIT`].
    async fn take(&self, owner: &Owner, length: Length) -> Result<PostgresReader, StorageError> {
        let until = Instant::now() + WAIT;
        let place = timeout_at(until, self.places.wait(owner, length)).await;
        let place = place.map_err(|_| BUSY)??;
        let link = pooled(&self.pool, until).await?;
        Ok(PostgresReader::new(link, Some(place)))
    }
}

/// The error for a query that has waited in vain.
const BUSY: StorageError = StorageError::Crowded("all connections are taken");

/// Returns a connection of a pool, for which this waits until a time.
async fn pooled(readers: &Pool<Server>, until: Instant) -> Result<Object<Server>, StorageError> {
    let taken = timeout_at(until, readers.get())
        .await
        .unwrap_or_else(|_| Err(PoolError::Backend(BUSY)));
    taken.map_err(|error| match error {
        PoolError::Backend(error) => error,
        other => StorageError::Unavailable(other.into()),
    })
}

impl Backend for Postgres {
    fn reader<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        Box::pin(async {
            let reader = self.queries.take(owner, Length::Short).await?;
            Ok(Reader(Held::Postgres(reader)))
        })
    }

    fn long_reader<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        Box::pin(async {
            let reader = match &self.long_queries {
                // All are long here, and none keeps to a part of them.
                Some(queries) => queries.take(owner, Length::Short).await?,
                None => self.queries.take(owner, Length::Long).await?,
            };
            Ok(Reader(Held::Postgres(reader)))
        })
    }

    fn snapshot<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        Box::pin(async {
            let mut reader = self.queries.take(owner, Length::Short).await?;
            reader.begin().await?;
            Ok(Reader(Held::Postgres(reader)))
        })
    }

    fn submit(&self, job: Box<dyn Job>) {
        self.schedule.submit(job);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.schedule.close();
            // A worker takes longer than this only if the server does not respond.
            let _ = tokio::time::timeout(self.server.patience() + WAIT, self.workers.wait()).await;
            self.queries.pool.close();
            if let Some(queries) = &self.long_queries {
                queries.pool.close();
            }
            self.server.close().await;
        })
    }
}

/// A worker that runs changes one after the other on a connection of its own.
struct Worker {
    server: Server,
    /// How long a change may wait for locks and for concurrent changes in all its runs.
    lock_wait: Duration,
    world: World,
    /// The connection, or `None` if it could not be established or was lost. The next change then
    /// connects again.
    link: Option<Link>,
    schedule: Arc<Schedule>,
}

/// The failure of one run of a change.
enum Failure {
    /// Nothing was committed, and another run may succeed.
    Again(StorageError),
    /// Another run would fail too, or it is unknown whether this run was committed.
    Final(StorageError),
    /// A connection that was there before the run was lost before the commit was sent, so nothing of the
    /// run is or will be committed. The server may still run its last statement for a moment.
    Lost,
}

impl Failure {
    /// Returns the failure of a run that was rolled back.
    fn of(error: StorageError) -> Self {
        if error.is_conflict() || error.is_nameless() {
            Self::Again(error)
        } else {
            Self::Final(error)
        }
    }
}

impl Worker {
    async fn work(mut self) {
        // Connect early, so that the first change does not wait. A failure is reported to the
        // change that needs it.
        self.link = self.server.connect().await.ok();
        while let Some(mut admitted) = self.schedule.next().await {
            let committed = self.run(&mut *admitted.job, admitted.lock_wait).await;
            self.schedule.end(admitted, committed);
            self.reclaim().await;
        }
    }

    /// Ends a statement that was abandoned and its transaction, so that the connection can run the
    /// next change. Drops the connection if that fails.
    async fn reclaim(&mut self) {
        if let Some(link) = &mut self.link
            && !link.reclaim().await
        {
            self.link = None;
        }
    }

    /// Runs a job until it is committed or refuses, which are both `Ok`, or fails. A run that
    /// conflicts with a concurrent change is repeated, up to [`RUNS`] runs in all. Once the runs have
    /// taken as long as a change may wait for locks, this fails with [`StorageError::Conflict`] sooner,
    /// so that the change gives the connection back: it may run again later.
    async fn run(&mut self, job: &mut dyn Job, lock_wait: Duration) -> Result<(), StorageError> {
        let begun = Instant::now();
        loop {
            let left = lock_wait.min(self.lock_wait.saturating_sub(begun.elapsed()));
            let error = match self.once(job, left).await {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(error),
                // A run on a new connection never ends so, so this does not go on for ever.
                Err(Failure::Lost) => continue,
                Err(Failure::Again(error)) => error,
            };
            job.count_failure();
            let runs = job.failures();
            let most = if error.is_conflict() {
                RUNS
            } else {
                NAMELESS_RUNS
            };
            if runs >= most {
                return Err(error);
            }
            // Each conflicting change waits for a random time, so that they do not conflict again.
            let [drawn] = self.world.random();
            tokio::time::sleep(step_aside(runs, drawn)).await;
            if error.is_conflict() && begun.elapsed() >= self.lock_wait {
                return Err(error);
            }
        }
    }

    /// Runs a job once, in a transaction of its own. Returns `Ok` if it is committed, or refuses
    /// and is rolled back.
    async fn once(&mut self, job: &mut dyn Job, lock_wait: Duration) -> Result<(), Failure> {
        let was_connected = self.link.is_some();
        let link = self.begun(lock_wait).await.map_err(Failure::Final)?;
        let mut tx = Connection::postgres(link);
        match job.run(&mut tx).await {
            Ran::Done => link
                .commit()
                .await
                .map_err(|uncommitted| match uncommitted {
                    Uncommitted::RolledBack(error) => Failure::of(error),
                    // The server has rolled the transaction back.
                    Uncommitted::Unknown(StorageError::Conflict) => {
                        Failure::Again(StorageError::Conflict)
                    }
                    // The commit may have succeeded before the connection was lost. Unavailable would
                    // promise that nothing was changed.
                    Uncommitted::Unknown(
                        StorageError::Unavailable(error) | StorageError::Locked(error),
                    ) => Failure::Final(StorageError::Other(error)),
                    Uncommitted::Unknown(other) => Failure::Final(other),
                }),
            Ran::Refused => {
                // If the connection is lost, the server rolls back. A refusal is not a failure of
                // the run: the job has it, and sends it to the caller.
                let _ = link.roll_back().await;
                Ok(())
            }
            // A statement without a response may still run, so its connection is reclaimed later.
            Ran::Failed(error @ StorageError::Unavailable(_))
                if was_connected && !link.is_unfinished() =>
            {
                // The server may be there, but its disk full, or may not respond any more.
                if link.control("").await.is_ok() || link.is_unfinished() {
                    return Err(Failure::Final(error));
                }
                self.link = None;
                Err(Failure::Lost)
            }
            // Without a rollback: the connection is lost, or a statement or a panic may have left
            // it in the middle of a statement. It is reclaimed before the next change.
            Ran::Failed(error @ (StorageError::Unavailable(_) | StorageError::Closed)) => {
                Err(Failure::Final(error))
            }
            Ran::Failed(error) => {
                link.roll_back().await.map_err(Failure::Final)?;
                Err(Failure::of(error))
            }
        }
    }

    /// Begins a transaction and returns the connection, a new one if there is none.
    async fn begun(&mut self, lock_wait: Duration) -> Result<&mut Link, StorageError> {
        let link = match self.link.take() {
            Some(link) => link,
            None => self.server.connect().await?,
        };
        let link = self.link.insert(link);
        link.begin_change(lock_wait);
        Ok(link)
    }
}

/// Returns how long a change waits before its next run, after `runs` runs: `drawn` parts of 255 of the
/// longest time.
fn step_aside(runs: u32, drawn: u8) -> Duration {
    STEP_ASIDE * runs * u32::from(drawn) / u32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_waits_longer_after_each_run() {
        for (runs, drawn, waits) in [(1, 0, 0), (1, 255, 8000), (3, 255, 24_000), (8, 51, 12_800)] {
            let waits = Duration::from_micros(waits);
            assert_eq!(step_aside(runs, drawn), waits, "{drawn} after {runs} runs");
        }
    }
}
