//! A database that is only read, beside the services that write it.

use std::sync::Arc;

use super::backend::Backend;
use super::record::record;
use super::statement::statement;
use super::{DatabaseLocation, Reader, StorageError, StoreConfig, migrate, postgresql, sqlite};

/// A handle to a database that is only read.
///
/// Opening it migrates nothing and creates no database: it is for processes beside the service, which
/// may run while the service does not.
pub struct ReadOnlyStore {
    backend: Arc<dyn Backend>,
}

impl std::fmt::Debug for ReadOnlyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadOnlyStore").finish_non_exhaustive()
    }
}

record! {
    struct Applied in "__diesel_schema_migrations" {
        version: String,
    }
}

impl ReadOnlyStore {
    /// Opens a database that the service has created.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached, or is of another version than this program.
    pub async fn open(config: &StoreConfig) -> Result<Self, StorageError> {
        let backend: Arc<dyn Backend> = match &config.database {
            DatabaseLocation::Sqlite(file) => Arc::new(sqlite::ReadOnlySqlite::open(file)?),
            DatabaseLocation::Postgres(url) => {
                Arc::new(postgresql::ReadOnlyPostgres::open(url, config)?)
            }
        };
        let store = Self { backend };
        store.ensure_current().await?;
        Ok(store)
    }

    /// Returns a connection whose statements all read the same state.
    pub async fn snapshot(&self) -> Result<Reader, StorageError> {
        self.backend.snapshot().await
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.backend.close().await;
    }

    /// Checks that exactly the migrations of this program have been applied.
    async fn ensure_current(&self) -> Result<(), StorageError> {
        let mut reader = self.snapshot().await?;
        let sql = statement!("SELECT version FROM __diesel_schema_migrations");
        let applied = reader.connection().fetch_all::<Applied>(sql, &[]).await;
        let applied = applied.map_err(|error| match error {
            // There is no such table.
            StorageError::Other(_) => StorageError::Version(migrate::EMPTY.to_owned()),
            other => other,
        })?;
        migrate::ensure_current(applied.into_iter().map(|row| row.version))
    }
}
