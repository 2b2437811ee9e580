//! A database that is only read, beside the services that write it.

use std::sync::Arc;

use super::backend::Backend;
use super::job::Owner;
use super::record::record;
use super::statement::statement;
use super::{
    Connection, DatabaseLocation, Reader, StorageError, StoreConfig, migrate, postgresql,
    service_state, sqlite,
};

/// The name of the value in the state of the service that says which programs can read the database:
/// those that know the migration of this version. A migration sets it if programs before it would read
/// something wrong. Without it, every program can read that has this rule.
pub(super) const OLDEST_READER: &str = "oldest_reader";

/// A handle to a database that is only read.
///
/// Opening it migrates nothing and creates no database: it is for processes beside the service, which
/// may run while the service does not.
pub struct ReadOnlyStore {
    backend: Arc<dyn Backend>,
    outlives_failures: bool,
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
    /// If the database cannot be reached, is older than this program, or so much newer that this
    /// program cannot read it.
    pub async fn open(config: &StoreConfig) -> Result<Self, StorageError> {
        let store = Self::unchecked(config)?;
        let mut reader = store.snapshot().await?;
        Self::ensure_readable(&mut reader.connection()).await?;
        drop(reader);
        Ok(store)
    }

    /// Opens a database if the service has created one.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn open_if_made(config: &StoreConfig) -> Result<Option<Self>, StorageError> {
        if config.database.missing_file().is_some() {
            return Ok(None);
        }
        match Self::open(config).await {
            Err(StorageError::Version(wrong)) if wrong == migrate::EMPTY => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Opens a database of which nobody knows yet whether this program can read it. Does not connect to
    /// PostgreSQL.
    ///
    /// # Errors
    ///
    /// If there is no file of SQLite, or a file that the URL of PostgreSQL names cannot be used.
    pub(crate) fn unchecked(config: &StoreConfig) -> Result<Self, StorageError> {
        let backend: Arc<dyn Backend> = match &config.database {
            DatabaseLocation::Sqlite(file) => Arc::new(sqlite::ReadOnlySqlite::open(file)?),
            DatabaseLocation::Postgres(url) => {
                Arc::new(postgresql::ReadOnlyPostgres::open(url, config)?)
            }
        };
        let outlives_failures = matches!(config.database, DatabaseLocation::Postgres(_));
        Ok(Self {
            backend,
            outlives_failures,
        })
    }

    /// Returns whether the database can be used again after a failure. A file of SQLite may have been
    /// replaced; connections to PostgreSQL are made anew, and those before are still counted.
    pub(crate) fn outlives_failures(&self) -> bool {
        self.outlives_failures
    }

    /// Returns a connection whose statements all read the same state.
    pub async fn snapshot(&self) -> Result<Reader, StorageError> {
        self.backend.snapshot(&Owner::Service).await
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.backend.close().await;
    }

    /// Checks that this program can read a database: all migrations that it knows have been applied,
    /// and none that forbids it.
    ///
    /// # Errors
    ///
    /// If the database is older than this program, or so much newer that this program cannot read it.
    pub async fn ensure_readable(c: &mut Connection<'_>) -> Result<(), StorageError> {
        let sql = statement!("SELECT version FROM __diesel_schema_migrations");
        let applied = c.fetch_all::<Applied>(sql, &[]).await;
        let applied = applied.map_err(|error| match error {
            // There is no such table.
            StorageError::Other(_) => StorageError::Version(migrate::EMPTY.to_owned()),
            other => other,
        })?;
        let oldest = service_state::lookup(c, OLDEST_READER).await?;
        migrate::ensure_readable(
            applied.into_iter().map(|row| row.version),
            oldest.as_deref(),
        )
    }
}
