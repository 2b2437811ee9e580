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
mod migrate;
mod postgresql;
mod reader;
mod record;
mod sqlite;
mod statement;

pub mod clock;
pub mod count;
pub mod database;
pub mod firewall;
pub mod inference_api_key;
pub mod inventory;
pub mod lease;
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
pub use error::{Aborted, Cause, Corrupt, StorageError};
use job::{Offer, Pending, Withdrawn};
pub use postgresql::{Address, AddressError};
pub use reader::Reader;
pub use sqlite::claim;

/// A handle to the database.
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
    /// Opens the database and migrates it to the version of this program, under a lock.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached, or a newer program has migrated it.
    pub async fn open(config: &StoreConfig) -> Result<Self, StorageError> {
        let backend: Arc<dyn Backend> = match &config.database {
            DatabaseLocation::Sqlite(file) => Arc::new(sqlite::Sqlite::open(file).await?),
            DatabaseLocation::Postgres(url) => {
                Arc::new(postgresql::Postgres::open(url, config).await?)
            }
        };
        Ok(Self { backend })
    }

    /// Returns a connection whose statements each read the latest committed state.
    pub async fn reader(&self) -> Result<Reader, StorageError> {
        self.backend.reader().await
    }

    /// Returns a connection whose statements all read the same state.
    pub async fn snapshot(&self) -> Result<Reader, StorageError> {
        self.backend.snapshot().await
    }

    /// Applies a change; it is on disk when this returns.
    ///
    /// A change that has begun runs to its end even if the caller goes away; one that has not begun
    /// by then is withdrawn.
    ///
    /// # Errors
    ///
    /// If the change refuses, or the database fails. The store is unavailable to a change that has
    /// not begun after [`WAIT`].
    pub async fn change<C: Change>(&self, change: C) -> Result<C::Output, Aborted<C::Refusal>> {
        let offer = Offer::new(change);
        let (sender, mut receiver) = oneshot::channel();
        self.backend
            .submit(Box::new(Pending::new(offer.clone(), sender)));
        // Dropped with this future: a caller that goes away withdraws a change that no worker has
        // claimed.
        let offer = Withdrawn(offer);
        let result = match tokio::time::timeout(WAIT, &mut receiver).await {
            Ok(result) => result,
            // The offer decides the race with the worker: only one of the two takes the change out.
            Err(_) if offer.0.take().is_some() => {
                return Err(StorageError::Unavailable(
                    "the changes before it take too long".into(),
                )
                .into());
            }
            Err(_) => receiver.await,
        };
        result.unwrap_or_else(|_| Err(Aborted::Failed(StorageError::Closed)))
    }

    /// Finishes all submitted changes and closes all connections.
    pub async fn close(&self) {
        self.backend.close().await;
    }
}
