//! Which database a store opens, and how much of it the store takes.

use std::path::PathBuf;
use std::time::Duration;

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
