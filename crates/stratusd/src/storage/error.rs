//! How a store fails, and whether trying again may help.

use rusqlite::ErrorCode;
use thiserror::Error;

/// What a library says of a failure: for the log alone.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// How a database failed.
#[derive(Debug, Error)]
pub enum StorageError {
    /// A concurrent change got in between: the same change may succeed on the state that it left.
    #[error("a concurrent change got in between")]
    Conflict,
    /// No connection could be had, or the database is busy: nothing was changed.
    #[error("the database cannot be reached")]
    Unavailable(#[source] Cause),
    /// The store was closed, or whatever made the change has failed.
    #[error("the store is closed")]
    Closed,
    /// Another service works on the same file.
    #[error("{0}")]
    InUse(String),
    /// The database is not of this version.
    #[error("{0}")]
    Version(String),
    /// What is stored is not what this version stores.
    #[error("the database holds {0} that does not fit the contract")]
    Corrupt(&'static str),
    /// Anything else.
    #[error("the database failed")]
    Other(#[source] Cause),
}

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            // Keys that exist by now, or references that are gone by now.
            Some(ErrorCode::ConstraintViolation) => Self::Conflict,
            // Another process writes to the file, or it cannot be read at the moment.
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull) => {
                Self::Unavailable(error.into())
            }
            _ => Self::Other(error.into()),
        }
    }
}

impl From<sqlx::Error> for StorageError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => Self::Unavailable(error.into()),
            sqlx::Error::Database(cause) if is_conflict(cause.as_ref()) => Self::Conflict,
            sqlx::Error::Database(cause) if is_busy(cause.as_ref()) => Self::Unavailable(error.into()),
            _ => Self::Other(error.into()),
        }
    }
}

/// Keys that exist by now, references that are gone by now, and what PostgreSQL says of transactions in each
/// other's way: serialization failures (40001) and deadlocks (40P01).
fn is_conflict(cause: &dyn sqlx::error::DatabaseError) -> bool {
    cause.is_unique_violation()
        || cause.is_foreign_key_violation()
        || matches!(cause.code().as_deref(), Some("40001" | "40P01"))
}

/// PostgreSQL is starting, stopping or full of connections (classes 53 and 57P).
fn is_busy(cause: &dyn sqlx::error::DatabaseError) -> bool {
    let code = cause.code();
    let code = code.as_deref().unwrap_or_default();
    code.starts_with("53") || code.starts_with("57P")
}

/// Why a change was not made.
#[derive(Debug)]
pub enum Aborted<R> {
    /// It refuses by itself.
    Refused(R),
    /// The database failed.
    Failed(StorageError),
}

impl<R> From<StorageError> for Aborted<R> {
    fn from(error: StorageError) -> Self {
        Self::Failed(error)
    }
}

impl Aborted<std::convert::Infallible> {
    /// How the database failed, for changes that never refuse.
    #[must_use]
    pub fn failure(self) -> StorageError {
        match self {
            Self::Failed(error) => error,
            Self::Refused(never) => match never {},
        }
    }
}
