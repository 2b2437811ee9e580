//! The store: everything that outlives the process, in SQLite or PostgreSQL.
//!
//! The store runs a [`Change`] in a transaction and returns once it is on disk. Each table has a
//! file with its records and statements; [`Store`] and the two backends begin and end transactions,
//! and know nothing of their statements.
//!
//! diesel connects, binds, keeps statements prepared and migrates; its query language is not used.
//! Statements are SQL that both databases understand (`statement.rs`), so the text that is written
//! is the text that `EXPLAIN` explains: plans are tuned by hints such as `INDEXED BY`, which the
//! query language cannot express, and it would need a type for each backend in each signature. Rows
//! are parsed by `record.rs`, where a struct is also the list of its columns; diesel's derives
//! would repeat that list in a `table!` and could not name the table of a value that does not fit.

mod backend;
mod change;
mod config;
mod connection;
mod error;
mod job;
mod lines;
mod migrate;
mod postgresql;
mod read_only;
mod reader;
mod record;
mod sqlite;
mod statement;
mod written;

pub mod audit;
pub mod balanced;
pub mod clock;
pub mod count;
pub mod database;
pub mod firewall;
pub mod idempotency;
pub mod inference_api_key;
pub mod inventory;
pub mod lease;
pub mod load_balancer;
pub mod load_balancer_change;
pub mod location;
pub mod lock;
pub mod networked;
pub mod page;
pub mod private_subnet;
pub mod project;
pub mod quota;
pub mod service_state;
pub mod standby;
pub mod token;
pub mod troubled;
pub mod vm;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api_types::ProjectId;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use backend::Backend;
pub use change::Change;
pub use config::{DatabaseLocation, SILENCE, StoreConfig, WAIT};
pub use connection::Connection;
use error::ensure_touched;
pub use error::{Aborted, Cause, Corrupt, StorageError};
pub use job::Owner;
use job::{Offer, Pending, Withdrawn};
pub use postgresql::{Address, AddressError};
pub use read_only::ReadOnlyStore;
pub use reader::Reader;
pub use sqlite::{Moment, Stepped, Watch, claim};
use written::Written;

use crate::world::World;

/// How long after the commit of a change [`Store::ensure_writable`] takes for granted that others
/// can be committed.
const FRESH: Duration = Duration::from_secs(2);

/// The bytes that a change writes to show that others can be committed: about as many as most
/// changes, so that it fails on a disk that has no room for them.
const PROBE: usize = 64 << 10;

/// A handle to the database.
#[derive(Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
    written: Arc<Written>,
    world: World,
    is_postgres: bool,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the database and migrates it to the version of this program, under a lock.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached, or a newer program has migrated it.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub async fn open(config: &StoreConfig) -> Result<Self, StorageError> {
        Self::open_with_long_pages(config, &Handle::current()).await
    }

    /// Opens the database as [`Store::open`] does. The connections by which long pages are read from
    /// PostgreSQL run in the runtime that also makes these pages: a page comes in many pieces, and each would
    /// wake a thread of another runtime.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub async fn open_with_long_pages(
        config: &StoreConfig,
        long: &Handle,
    ) -> Result<Self, StorageError> {
        let backend: Arc<dyn Backend> = match &config.database {
            DatabaseLocation::Sqlite(file) => Arc::new(sqlite::Sqlite::open(file).await?),
            DatabaseLocation::Postgres(url) => {
                Arc::new(postgresql::Postgres::open(url, config, long).await?)
            }
        };
        Ok(Self {
            backend,
            written: Arc::default(),
            world: config.world.clone(),
            is_postgres: matches!(config.database, DatabaseLocation::Postgres(_)),
        })
    }

    /// Opens an SQLite file, but starts no thread that writes: the caller runs the writer step by
    /// step, and watches it. A simulation of the service is deterministic only then.
    ///
    /// Several of these stores may share a file. A change fails at once while another one writes.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, or a newer program has migrated it.
    pub async fn open_stepped<W: Watch>(
        file: &Path,
        world: World,
        watch: W,
    ) -> Result<(Self, Stepped<W>), StorageError> {
        let (sqlite, writer) = sqlite::Sqlite::open_stepped(file, watch).await?;
        let store = Self {
            backend: Arc::new(sqlite),
            written: Arc::default(),
            world,
            is_postgres: false,
        };
        Ok((store, writer))
    }

    /// Returns whether the database is one of PostgreSQL, whose statements keep no thread of this process
    /// busy.
    #[must_use]
    pub fn is_postgres(&self) -> bool {
        self.is_postgres
    }

    /// Returns a connection of the service itself, whose statements each read the latest committed
    /// state.
    ///
    /// # Errors
    ///
    /// As [`reader_for`](Self::reader_for).
    pub async fn reader(&self) -> Result<Reader, StorageError> {
        self.reader_for(&Owner::Service).await
    }

    /// Returns a connection whose statements each read the latest committed state. Queries of an owner
    /// wait for those of another one only until it is their turn.
    ///
    /// # Errors
    ///
    /// If the database fails. It is [`StorageError::Crowded`] if there is no room for the query, or no
    /// connection is free within [`WAIT`].
    pub async fn reader_for(&self, owner: &Owner) -> Result<Reader, StorageError> {
        self.backend.reader(owner).await
    }

    /// Returns a connection to read a long page with, as [`reader_for`](Self::reader_for) does. The long
    /// pages of all projects together never have all connections.
    ///
    /// # Errors
    ///
    /// As [`reader_for`](Self::reader_for).
    pub async fn long_reader_for(&self, owner: &Owner) -> Result<Reader, StorageError> {
        self.backend.long_reader(owner).await
    }

    /// Returns a connection whose statements all read the same state.
    ///
    /// # Errors
    ///
    /// As [`reader_for`](Self::reader_for).
    pub async fn snapshot_for(&self, owner: &Owner) -> Result<Reader, StorageError> {
        self.backend.snapshot(owner).await
    }

    /// Applies a change; it is on disk when this returns.
    ///
    /// A change that has begun runs to its end even if the caller goes away; one that has not begun
    /// by then is withdrawn.
    ///
    /// # Errors
    ///
    /// If the change refuses, or the database fails. It is [`StorageError::Crowded`] for a change for
    /// which there is no room, or that has not begun after [`WAIT`].
    pub async fn change<C: Change>(&self, change: C) -> Result<C::Output, Aborted<C::Refusal>> {
        self.submit(change, None).await
    }

    /// Applies a change of what a project owns, as [`change`](Self::change) does. While changes of
    /// its type in the project wait for a lock, those of other projects and types do not wait for
    /// them.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change).
    pub async fn change_of<C: Change>(
        &self,
        project: &ProjectId,
        change: C,
    ) -> Result<C::Output, Aborted<C::Refusal>> {
        self.submit(change, Some(project.clone())).await
    }

    async fn submit<C: Change>(
        &self,
        change: C,
        project: Option<ProjectId>,
    ) -> Result<C::Output, Aborted<C::Refusal>> {
        let offer = Offer::new(change);
        let (sender, mut receiver) = oneshot::channel();
        let until = Instant::now() + WAIT;
        let job = Pending::new(offer.clone(), sender, (project, until), &self.written);
        self.backend.submit(Box::new(job));
        // Dropped with this future: a caller that goes away withdraws a change that no worker has
        // claimed.
        let offer = Withdrawn(offer);
        let ended = match tokio::time::timeout_at(until, &mut receiver).await {
            Ok(ended) => ended,
            // The offer decides the race with the worker: only one of the two takes the change out.
            Err(_) => match offer.0.withdraw() {
                Some(error) => return Err(error.into()),
                None => receiver.await,
            },
        };
        let Ok(ended) = ended else {
            return Err(StorageError::Closed.into());
        };
        ended
    }

    /// Returns the projects that have made at least a number of changes in this process since each of them
    /// was last told to [`rest`](Self::rest).
    #[must_use]
    pub fn busy(&self, at_least: u64) -> Vec<ProjectId> {
        self.written.busy(at_least)
    }

    /// Counts the changes of a project anew.
    pub fn rest(&self, project: &ProjectId) {
        self.written.rest(project);
    }

    /// Checks that changes can be committed: one has been within two seconds, or else a small one is.
    ///
    /// # Errors
    ///
    /// If that change fails.
    pub async fn ensure_writable(&self) -> Result<(), StorageError> {
        let last = self.written.last();
        if last.is_some_and(|last| last.elapsed() < FRESH) {
            return Ok(());
        }
        let value = self.world.random::<8>().repeat(PROBE / 8);
        self.change(Probe { value }).await.map_err(Aborted::failure)
    }

    /// Finishes all submitted changes and closes all connections.
    pub async fn close(&self) {
        self.backend.close().await;
    }
}

/// A change that shows whether changes can be committed.
struct Probe {
    /// Another one each time: SQLite writes no page that stays the same.
    value: Vec<u8>,
}

impl Change for Probe {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        Ok(service_state::put(tx, "probe", &self.value).await?)
    }
}
