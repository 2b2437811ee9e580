//! The settings of a store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::world::World;

/// How long a caller waits for a connection, or for a change to begin, before it gets
/// [`StorageError::Crowded`](super::StorageError::Crowded).
pub const WAIT: Duration = Duration::from_secs(5);

/// The `silence` of a [`StoreConfig`] of the service and of its commands.
pub const SILENCE: Duration = Duration::from_secs(40);

/// The settings of a store.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Where the database is.
    pub database: DatabaseLocation,
    /// The number of connections to PostgreSQL: half of them for changes and half for queries, at
    /// least one each. Ignored on SQLite, which has one writer and as many readers as it needs. A database
    /// that is only read has one connection, and at most this many backends.
    pub connections: u32,
    /// How long a statement may take on PostgreSQL, including its waits for locks. Ignored on
    /// SQLite.
    pub patience: Duration,
    /// How long a client of PostgreSQL may not respond, in whole seconds and at least four, before the
    /// server closes its connection. Ignored on SQLite.
    pub silence: Duration,
    /// How long the statements of a change may wait for locks on PostgreSQL. Then the change gives
    /// its connection back and runs again later, until [`WAIT`] has passed since it was submitted.
    /// Ignored on SQLite.
    pub lock_wait: Duration,
    /// The source of randomness, for the waits before a change runs again and for the changes that
    /// test whether the database can be written.
    pub world: World,
}

/// Where a database is: in a file or on a server.
#[derive(Clone)]
pub enum DatabaseLocation {
    /// An SQLite database in this file, which is created if it is missing.
    Sqlite(PathBuf),
    /// A PostgreSQL database at this URL, `postgres://user:password@host/name`.
    Postgres(String),
}

impl DatabaseLocation {
    /// Returns the file of SQLite if it does not exist. One that may not be looked at is not missing.
    #[must_use]
    pub fn missing_file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(file) if matches!(file.try_exists(), Ok(false)) => Some(file),
            Self::Sqlite(_) | Self::Postgres(_) => None,
        }
    }
}

impl std::fmt::Debug for DatabaseLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(file) => f.debug_tuple("Sqlite").field(file).finish(),
            Self::Postgres(_) => f.write_str("Postgres([redacted])"),
        }
    }
}
