//! Where everything is kept: one [`Store`] over SQLite or PostgreSQL.
//!
//! A [`Change`] is a value that the store makes all of or nothing of, and acknowledges once it is on disk. It may be
//! run more than once, for another change may get in between; so it holds what it needs and keeps nothing.
//! Statements stand in a file for each table, in words that both databases understand; this module and its two
//! backends know when a transaction begins and ends, and nothing of what it says.

mod connection;
mod error;
mod job;
mod migrate;
mod postgresql;
mod reader;
mod schema;
mod sqlite;
mod statement;

pub mod count;
pub mod database;
pub mod firewall;
pub mod inference_api_key;
pub mod inventory;
pub mod load_balancer;
pub mod location;
pub mod page;
pub mod private_subnet;
pub mod project;
pub mod service_state;
pub mod token;
pub mod vm;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

pub use connection::Connection;
pub use error::{Aborted, Cause, StorageError};
use job::{Job, Offer, Pending, Withdrawn};
pub use postgresql::{Address, AddressError};
pub use reader::Reader;
pub use sqlite::claim;

use crate::world::World;

/// How long a connection, or a place among the changes, may be waited for before whoever needs it is refused as
/// unavailable.
pub const WAIT: Duration = Duration::from_secs(5);

/// Which database, and how much of it.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Where it is.
    pub database: DatabaseLocation,
    /// Connections to PostgreSQL, half of them for changes, but one for each at least. SQLite has its own way.
    pub connections: u32,
    /// How long a statement may take on PostgreSQL, the locks that it waits for included.
    pub patience: Duration,
    /// What changes draw from that step aside for each other, so that they do not meet again.
    pub world: World,
}

/// Where a database is.
#[derive(Clone)]
pub enum DatabaseLocation {
    /// A file, made when it is missing.
    Sqlite(PathBuf),
    /// A server, `postgres://user:password@host/name`.
    Postgres(String),
}

impl std::fmt::Debug for DatabaseLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(file) => f.debug_tuple("Sqlite").field(file).finish(),
            Self::Postgres(_) => f.write_str("Postgres([redacted])"),
        }
    }
}

/// Something that happens as a whole or not at all.
pub trait Change: Send + Sync + 'static {
    /// What it answers when it is done.
    type Answer: Send + 'static;
    /// Why it is not done.
    type Refusal: Send + 'static;

    /// Does it within a transaction. It may be called again, on a state that another change has left.
    fn make(
        &self,
        tx: &mut Connection<'_>,
    ) -> impl Future<Output = Result<Self::Answer, Aborted<Self::Refusal>>> + Send;
}

/// What a database must offer.
trait Backend: Send + Sync + 'static {
    /// A connection that reads what is committed.
    fn reader(&self) -> BoxFuture<'_, Result<Reader, StorageError>>;
    /// A connection that sees one state of everything, however long it reads.
    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>>;
    /// Runs a job in a transaction, commits, and lets it answer. It may drop one that nobody waits for any more.
    fn submit(&self, job: Box<dyn Job>);
    /// Finishes what was submitted and closes all connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The store.
#[derive(Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the database and brings it to this version, under a lock.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or was made by a newer version than this.
    pub async fn open(config: &StoreConfig) -> Result<Self, StorageError> {
        let backend: Arc<dyn Backend> = match &config.database {
            DatabaseLocation::Sqlite(file) => Arc::new(sqlite::Sqlite::open(file).await?),
            DatabaseLocation::Postgres(url) => {
                Arc::new(postgresql::Postgres::open(url, config).await?)
            }
        };
        Ok(Self { backend })
    }

    /// A connection that reads what is committed, statement by statement.
    pub async fn reader(&self) -> Result<Reader, StorageError> {
        self.backend.reader().await
    }

    /// A connection that sees one state of everything, however many statements it takes.
    pub async fn snapshot(&self) -> Result<Reader, StorageError> {
        self.backend.snapshot().await
    }

    /// Makes a change; it is on disk when this returns. Once begun it goes on to its end, even if nobody waits any more;
    /// one that nobody waits for is not begun.
    ///
    /// # Errors
    ///
    /// What the change refuses, or how the database failed; it counts as unavailable if the change has not begun after
    /// [`WAIT`].
    pub async fn change<C: Change>(&self, change: C) -> Result<C::Answer, Aborted<C::Refusal>> {
        let offer = Offer::new(change);
        let (reply, mut answer) = oneshot::channel();
        self.backend
            .submit(Box::new(Pending::new(offer.clone(), reply)));
        let offer = Withdrawn(offer);
        let answered = match tokio::time::timeout(WAIT, &mut answer).await {
            Ok(answered) => answered,
            Err(_) if offer.0.take().is_some() => {
                return Err(StorageError::Unavailable(
                    "the changes before it take too long".into(),
                )
                .into());
            }
            Err(_) => answer.await,
        };
        answered.unwrap_or_else(|_| Err(Aborted::Failed(StorageError::Closed)))
    }

    /// Finishes what was begun and closes all connections.
    pub async fn close(&self) {
        self.backend.close().await;
    }
}
