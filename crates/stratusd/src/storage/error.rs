//! How a store fails, and whether trying again may help.

use diesel::result::{DatabaseErrorKind, Error};
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
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// Anything else.
    #[error("the database failed")]
    Other(#[source] Cause),
}

/// A stored value that does not fit its type. The value is not shown: it may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the database holds a value in {table}.{column} that does not fit the contract")]
pub struct Corrupt {
    /// The table.
    pub table: &'static str,
    /// The column.
    pub column: &'static str,
}

/// What PostgreSQL says of transactions that wait for each other, in English; diesel has no name for it.
const DEADLOCK: &str = "deadlock detected";

impl StorageError {
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }

    /// Whether the database has refused a statement for a reason that diesel has no name for.
    pub(super) fn is_nameless(&self) -> bool {
        let Self::Other(cause) = self else {
            return false;
        };
        matches!(
            cause.downcast_ref(),
            Some(Error::DatabaseError(DatabaseErrorKind::Unknown, _))
        )
    }
}

impl From<diesel::result::Error> for StorageError {
    fn from(error: diesel::result::Error) -> Self {
        use DatabaseErrorKind::{
            ClosedConnection, ForeignKeyViolation, ReadOnlyTransaction, SerializationFailure,
            UnableToSendCommand, UniqueViolation, Unknown,
        };
        match &error {
            Error::DeserializationError(cause) => match cause.downcast_ref::<Corrupt>() {
                Some(corrupt) => Self::Corrupt(*corrupt),
                None => Self::Other(error.into()),
            },
            // Keys that exist by now, references that are gone by now, and transactions in each other's way.
            Error::DatabaseError(
                UniqueViolation | ForeignKeyViolation | SerializationFailure,
                _,
            ) => Self::Conflict,
            Error::DatabaseError(Unknown, told) if told.message() == DEADLOCK => Self::Conflict,
            // The last one is a server that was the first of several until a moment ago.
            Error::DatabaseError(
                ClosedConnection | UnableToSendCommand | ReadOnlyTransaction,
                _,
            ) => Self::Unavailable(error.into()),
            Error::DatabaseError(Unknown, told) if is_sqlite_busy(told.message()) => {
                Self::Unavailable(error.into())
            }
            _ => Self::Other(error.into()),
        }
    }
}

/// Another process writes to the file, or it cannot be written at the moment: what SQLite calls `SQLITE_BUSY`,
/// `SQLITE_LOCKED` and `SQLITE_FULL`, of which only the words get here.
fn is_sqlite_busy(message: &str) -> bool {
    matches!(
        message,
        "database is locked" | "database table is locked" | "database or disk is full"
    )
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
