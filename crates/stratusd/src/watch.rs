//! Follows the database for a process that only reads it: everything at first, and then several times a
//! second what has changed.
//!
//! On a thread of its own, because statements on SQLite run in the calling thread and may wait for
//! a disk or a lock, and nothing else of such a process may wait for that.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use api_types::{LoadBalancerId, ProjectId};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::storage::load_balancer_change::Seen;
use crate::storage::{
    Connection, DatabaseLocation, ReadOnlyStore, SILENCE, StorageError, StoreConfig,
};
use crate::sweep::CHANGES_KEPT;
use crate::world::World;

/// How often to read what has changed.
const POLL: Duration = Duration::from_millis(250);
/// How long to wait after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a statement may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the wait for a connection may take.
const ROUND: Duration = Duration::from_secs(20);
/// The number of changes that one statement reads at most.
const PAGE: i64 = 500;
/// The number of changed resources that are looked up one by one in a round. If more have changed, all
/// are read.
const MOST_CHANGED: usize = 5_000;

/// The backends on PostgreSQL that a process which only reads may have: it uses one, and another one for
/// while the server has not ended the first.
pub const BACKENDS: u32 = 2;

/// What a round of reading has found.
pub(crate) struct Found<U> {
    /// What is new, in order.
    pub updates: Vec<U>,
    /// Whether everything was read that was there when reading began. If not, the next round follows at
    /// once.
    pub is_complete: bool,
    /// Why something that belongs to the round could not be read. The updates are valid.
    pub failure: Option<anyhow::Error>,
}

/// What reads the database in each round.
pub(crate) trait Rounds: Send + 'static {
    /// What a round has found.
    type Update: Send + Sync + 'static;

    /// Reads what is new since the last round, in one transaction.
    async fn read(&mut self, c: &mut Connection<'_>) -> Result<Found<Self::Update>>;
}

/// What the thread needs to read the database.
pub(crate) struct Watch<R> {
    pub database: DatabaseLocation,
    pub world: World,
    pub reading: Arc<Reading>,
    pub stop: CancellationToken,
    /// The backends that it may have on PostgreSQL.
    pub backends: u32,
    pub rounds: R,
}

impl<R: Rounds> Watch<R> {
    /// Starts the thread, which ends when `stop` is cancelled or nobody receives updates.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(crate) fn start(self, updates: mpsc::Sender<R::Update>) -> Result<thread::JoinHandle<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("failed to start the runtime of the thread that reads the database")?;
        let work = move || {
            let stop = self.stop.clone();
            runtime.block_on(stop.run_until_cancelled(self.run(updates)));
        };
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(work)
            .context("failed to start the thread that reads the database")
    }

    /// Reads until nobody receives updates. Opens a file anew after each failure, since it may have been
    /// replaced.
    async fn run(mut self, updates: mpsc::Sender<R::Update>) {
        let mut store = None;
        while !updates.is_closed() {
            let opened = store.take().map_or_else(|| self.open(), Ok);
            let failure = match opened {
                Ok(opened) => {
                    let failure = self.follow(&opened, &updates).await;
                    if opened.outlives_failures() {
                        store = Some(opened);
                    } else {
                        opened.close().await;
                    }
                    failure
                }
                Err(error) => error,
            };
            if updates.is_closed() {
                return;
            }
            self.reading.fail(format!("{failure:#}"));
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn open(&self) -> Result<ReadOnlyStore> {
        let config = StoreConfig {
            database: self.database.clone(),
            connections: self.backends,
            patience: PATIENCE,
            silence: SILENCE,
            lock_wait: PATIENCE,
            world: self.world.clone(),
        };
        ReadOnlyStore::unchecked(&config).context("failed to open the database")
    }

    /// Reads until there is a failure, which it returns.
    async fn follow(
        &mut self,
        store: &ReadOnlyStore,
        updates: &mpsc::Sender<R::Update>,
    ) -> anyhow::Error {
        loop {
            match self.round(store, updates).await {
                Ok(true) => {
                    self.reading.succeed();
                    tokio::time::sleep(POLL).await;
                }
                // A signal to stop may be waiting.
                Ok(false) => tokio::task::yield_now().await,
                Err(error) => return error,
            }
        }
    }

    /// Reads what is new, and returns whether everything was read.
    async fn round(
        &mut self,
        store: &ReadOnlyStore,
        updates: &mpsc::Sender<R::Update>,
    ) -> Result<bool> {
        let mut reader = timeout(ROUND, store.snapshot())
            .await
            .context("it does not respond")?
            .context("failed to open the database")?;
        let c = &mut reader.connection();
        // A newer program may have migrated the database since the last round.
        let readable = ReadOnlyStore::ensure_readable(c).await;
        readable.context("failed to open the database")?;
        // Without a time limit: each statement has one.
        let found = self.rounds.read(c).await?;
        // Ends the transaction, which would keep the database from removing old versions of rows.
        drop(reader);
        for update in found.updates {
            updates.send(update).await?;
        }
        found.failure.map_or(Ok(found.is_complete), Err)
    }
}

/// The ids of a project, and of a load balancer in it or of what stands for its networks.
pub(crate) type ChangedKey = (ProjectId, LoadBalancerId);

/// Which changes were read so far.
#[derive(Default)]
pub(crate) struct Progress {
    /// Which changes were read, and when, or `None` if nothing was read yet.
    seen: Option<(Seen, Instant)>,
}

impl Progress {
    /// Returns what has changed, and where that was read. Returns `None` for what has changed if it is not
    /// known, or so much that all can as well be read.
    pub(crate) async fn changed(
        &self,
        c: &mut Connection<'_>,
    ) -> Result<(Option<HashSet<ChangedKey>>, Self), StorageError> {
        let begun = Instant::now();
        let seen = Seen::load(c).await?;
        let changed = self.since(c, &seen).await?;
        let seen = Some((seen, begun));
        Ok((changed, Self { seen }))
    }

    async fn since(
        &self,
        c: &mut Connection<'_>,
        seen: &Seen,
    ) -> Result<Option<HashSet<ChangedKey>>, StorageError> {
        let Some((earlier, read)) = &self.seen else {
            return Ok(None);
        };
        // Changes are deleted after a time.
        if read.elapsed() >= CHANGES_KEPT / 2 {
            return Ok(None);
        }
        let Some(mut since) = seen.since(c, earlier).await? else {
            return Ok(None);
        };
        let mut keys = HashSet::new();
        loop {
            let changes = since.page(c, PAGE).await?;
            if changes.is_empty() {
                return Ok(Some(keys));
            }
            let changed = changes.into_iter();
            keys.extend(changed.map(|change| (change.project_id, change.load_balancer_id)));
            if keys.len() > MOST_CHANGED {
                return Ok(None);
            }
        }
    }
}

/// What is known of the database: when it was read last, and why it cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Reading(Mutex<Last>);

#[derive(Debug, Default)]
struct Last {
    read: Option<Instant>,
    failure: Option<String>,
}

impl Reading {
    /// Records that the database was read, and logs it if it could not be read before.
    pub(crate) fn succeed(&self) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.read = Some(Instant::now());
        if last.failure.take().is_some() {
            tracing::info!("the database can be read again");
        }
    }

    /// Records why the database could not be read, and logs it if the reason is another one than
    /// before.
    pub(crate) fn fail(&self, failure: String) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.failure.as_ref() != Some(&failure) {
            tracing::error!(
                failure,
                "the database cannot be read: going on with what was read last"
            );
        }
        last.failure = Some(failure);
    }

    /// Returns how long ago the database was read, or `None` if it never was.
    pub(crate) fn age(&self) -> Option<Duration> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.read.map(|read| read.elapsed())
    }

    /// Returns whether the last attempt to read the database succeeded.
    pub(crate) fn is_current(&self) -> bool {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.read.is_some() && last.failure.is_none()
    }
}
