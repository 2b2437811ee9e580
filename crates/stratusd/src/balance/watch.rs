//! Reads load balancers from the database: all of them at first, and then several times a second what
//! has changed.
//!
//! On a thread of its own, because statements on SQLite run in the calling thread and may wait for
//! a disk or a lock, and no connection may wait for that.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::declared::{Declared, Key};
use super::shared::Reading;
use crate::operations::load_balancer::hostname;
use crate::provision::authority::Authority;
use crate::seal::Sealer;
use crate::storage::balanced::{self, Balanced};
use crate::storage::load_balancer_change::Seen;
use crate::storage::{
    Connection, DatabaseLocation, ReadOnlyStore, SILENCE, StorageError, StoreConfig, load_balancer,
};
use crate::sweep::CHANGES_KEPT;
use crate::world::World;

/// How often to read what has changed.
const POLL: Duration = Duration::from_millis(250);
/// How long to wait after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a statement may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one round of reading changes may take, with the wait for a connection.
const ROUND: Duration = Duration::from_secs(20);
/// The number of load balancers, or of changes, that one statement reads at most.
const PAGE: i64 = 500;
/// The number of load balancers that are looked up one by one in a round. If more have changed, all are
/// read.
const MOST_CHANGED: usize = 5_000;
/// How often to look for another certificate authority, once there is one.
const AUTHORITY: Duration = Duration::from_secs(10);

/// What was read from the database.
pub(super) enum Update {
    /// All load balancers that there are.
    All(Vec<Declared>),
    /// The load balancers that have changed: `None` for one that is gone.
    Changed(Vec<(Key, Option<Declared>)>),
    /// The certificate authority.
    Authority(Box<Authority>),
}

/// What the thread needs to read the database.
pub(super) struct Watch {
    pub database: DatabaseLocation,
    pub service_domain: String,
    pub sealer: Option<Sealer>,
    pub world: World,
    pub reading: Arc<Reading>,
    pub stop: CancellationToken,
}

impl Watch {
    /// Starts the thread, which ends when `stop` is cancelled or nobody receives updates.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(super) fn start(self, updates: mpsc::Sender<Update>) -> Result<thread::JoinHandle<()>> {
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

    /// Reads until nobody receives updates. Opens the database anew after each failure, since its file
    /// may have been replaced.
    async fn run(self, updates: mpsc::Sender<Update>) {
        let mut known = Known::default();
        while !updates.is_closed() {
            let failure = match self.open().await {
                Ok(store) => {
                    let failure = self.follow(&store, &mut known, &updates).await;
                    store.close().await;
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

    async fn open(&self) -> Result<ReadOnlyStore> {
        let config = StoreConfig {
            database: self.database.clone(),
            connections: 1,
            patience: PATIENCE,
            silence: SILENCE,
            lock_wait: PATIENCE,
            world: self.world.clone(),
        };
        let opened = timeout(ROUND, ReadOnlyStore::open(&config)).await;
        opened
            .context("it does not respond")?
            .context("failed to open the database")
    }

    /// Reads until there is a failure, which it returns.
    async fn follow(
        &self,
        store: &ReadOnlyStore,
        known: &mut Known,
        updates: &mpsc::Sender<Update>,
    ) -> anyhow::Error {
        loop {
            if let Err(error) = self.round(store, known, updates).await {
                return error;
            }
            self.reading.succeed();
            tokio::time::sleep(POLL).await;
        }
    }

    async fn round(
        &self,
        store: &ReadOnlyStore,
        known: &mut Known,
        updates: &mpsc::Sender<Update>,
    ) -> Result<()> {
        let mut reader = timeout(ROUND, store.snapshot())
            .await
            .context("it does not respond")??;
        let c = &mut reader.connection();
        // A newer program may have migrated the database since the last round.
        ReadOnlyStore::ensure_readable(c).await?;
        // Without a time limit: the statements have one, and there may be many load balancers.
        let update = known.read(c, &self.service_domain).await?;
        let authority = match &self.sealer {
            Some(sealer) if known.wants_authority() => {
                Authority::load(c, sealer, &self.world).await
            }
            _ => Ok(None),
        };
        // Ends the transaction, which would keep the database from removing old versions of rows.
        drop(reader);
        if let Some(update) = update {
            updates.send(update).await?;
        }
        // What was read before is in force although there is no authority.
        if let Some(authority) = authority?.filter(|found| known.is_new(found)) {
            updates.send(Update::Authority(Box::new(authority))).await?;
        }
        Ok(())
    }
}

/// What was read so far.
#[derive(Default)]
struct Known {
    /// Which changes were read, and when, or `None` if nothing was read yet.
    seen: Option<(Seen, Instant)>,
    /// The certificate of the authority, and when it was read.
    authority: Option<(String, Instant)>,
}

impl Known {
    /// Reads what has changed, or everything if changes may be missing. Returns `None` if nothing has
    /// changed.
    async fn read(&mut self, c: &mut Connection<'_>, domain: &str) -> Result<Option<Update>> {
        // Taken before the read, so that changes never seem younger than they are.
        let begun = Instant::now();
        let seen = Seen::load(c).await?;
        let update = match self.changed(c, &seen).await? {
            Some(keys) if keys.is_empty() => None,
            Some(keys) => Some(Update::Changed(lookup(c, keys, domain).await?)),
            None => Some(Update::All(all(c, domain).await?)),
        };
        self.seen = Some((seen, begun));
        Ok(update)
    }

    /// Returns the load balancers that have changed. Returns `None` if they are not known, or so many
    /// that all can as well be read.
    async fn changed(
        &self,
        c: &mut Connection<'_>,
        seen: &Seen,
    ) -> Result<Option<HashSet<Key>>, StorageError> {
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

    fn wants_authority(&self) -> bool {
        let read = self.authority.as_ref();
        read.is_none_or(|(_, read)| read.elapsed() >= AUTHORITY)
    }

    /// Records the authority that was read, and returns whether it is another one than before.
    fn is_new(&mut self, authority: &Authority) -> bool {
        let certificate = authority.certificate().to_owned();
        let known = self.authority.as_ref().map(|(known, _)| known);
        let is_new = known != Some(&certificate);
        self.authority = Some((certificate, Instant::now()));
        is_new
    }
}

/// Reads load balancers by their ids: `None` for one that is gone.
async fn lookup(
    c: &mut Connection<'_>,
    keys: HashSet<Key>,
    domain: &str,
) -> Result<Vec<(Key, Option<Declared>)>, StorageError> {
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let declared = match balanced::lookup(c, &key.0, &key.1).await? {
            Some(row) => Some(declared(c, row, domain).await?),
            None => None,
        };
        found.push((key, declared));
    }
    Ok(found)
}

/// Reads all load balancers.
async fn all(c: &mut Connection<'_>, domain: &str) -> Result<Vec<Declared>, StorageError> {
    let mut found: Vec<Declared> = Vec::new();
    loop {
        let last = found.last().map(Declared::key);
        let after = last
            .as_ref()
            .map_or(("", ""), |(project, id)| (project.as_str(), id.as_str()));
        let rows = balanced::after(c, after, PAGE).await?;
        let is_last = i64::try_from(rows.len()).is_ok_and(|count| count < PAGE);
        for row in rows {
            found.push(declared(c, row, domain).await?);
        }
        if is_last {
            return Ok(found);
        }
    }
}

async fn declared(
    c: &mut Connection<'_>,
    row: Balanced,
    domain: &str,
) -> Result<Declared, StorageError> {
    let vms = load_balancer::vms(c, &row.project_id, &row.id).await?;
    let hostname = hostname(&row.name, &row.subnet_id, domain)?;
    Ok(Declared {
        hostname: hostname.as_str().to_owned(),
        vms: vms.into_iter().map(Into::into).collect(),
        row,
    })
}
