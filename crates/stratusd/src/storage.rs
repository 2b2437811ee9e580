//! Where everything is kept: one [`Store`] over SQLite or PostgreSQL.
//!
//! A [`Change`] is a value that the store makes all of or nothing of, and acknowledges once it is on disk. It may be
//! run more than once, for another change may get in between; so it holds what it needs and keeps nothing.
//! Statements stand in a file for each table, in words that both databases understand; this module and its two
//! backends know when a transaction begins and ends, and nothing of what it says.

mod backend;
mod change;
mod config;
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

use std::sync::Arc;

use tokio::sync::oneshot;

use backend::Backend;
pub use change::Change;
pub use config::{DatabaseLocation, StoreConfig, WAIT};
pub use connection::Connection;
pub use error::{Aborted, Cause, StorageError};
use job::{Offer, Pending, Withdrawn};
pub use postgresql::{Address, AddressError};
pub use reader::Reader;
pub use sqlite::claim;

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
    pub async fn change<C: Change>(&self, change: C) -> Result<C::Output, Aborted<C::Refusal>> {
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
