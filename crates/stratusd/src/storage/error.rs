//! How a store fails, and whether trying again may help.

use diesel::result::{DatabaseErrorKind, Error};
use thiserror::Error;

/// The error of a library, for the log alone.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A failure of the database.
#[derive(Debug, Error)]
pub enum StorageError {
    /// A concurrent change has committed first. The same change may succeed on the new state.
    #[error("a concurrent change got in between")]
    Conflict,
    /// There is no connection, or the database is busy. Nothing was changed.
    #[error("the database cannot be reached")]
    Unavailable(#[source] Cause),
    /// The store is closed, or the change panicked.
    #[error("the store is closed")]
    Closed,
    /// Another service uses the same file.
    #[error("{0}")]
    InUse(String),
    /// The database cannot be used by this version of the program.
    #[error("{0}")]
    Version(String),
    /// A stored value does not fit its type.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// Any other failure.
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

/// PostgreSQL's English message about transactions that wait for each other. diesel does not pass
/// its code on.
const DEADLOCK: &str = "deadlock detected";

impl StorageError {
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }

    /// Returns whether the database rejected a statement with a code that diesel has no name for.
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
            // A concurrent change has inserted the same key, deleted a referenced row, or conflicts
            // with this transaction.
            Error::DatabaseError(
                UniqueViolation | ForeignKeyViolation | SerializationFailure,
                _,
            ) => Self::Conflict,
            Error::DatabaseError(Unknown, error) if error.message() == DEADLOCK => Self::Conflict,
            // A read-only transaction means a server that was the primary until a moment ago.
            Error::DatabaseError(
                ClosedConnection | UnableToSendCommand | ReadOnlyTransaction,
                _,
            ) => Self::Unavailable(error.into()),
            Error::DatabaseError(Unknown, info) if is_unwritable(info.message()) => {
                Self::Unavailable(error.into())
            }
            _ => Self::Other(error.into()),
        }
    }
}

/// Returns whether a message means that nothing can be written at the moment, or read: the file is
/// locked, or the disk is full or fails. diesel passes the message on, but not the code.
///
/// The messages of SQLite are those of `SQLITE_BUSY`, `SQLITE_LOCKED`, `SQLITE_FULL`,
/// `SQLITE_IOERR`, `SQLITE_READONLY` and `SQLITE_CANTOPEN`. Those of PostgreSQL end with the words of
/// the system, here in English.
fn is_unwritable(message: &str) -> bool {
    matches!(
        message,
        "database is locked"
            | "database table is locked"
            | "database or disk is full"
            | "disk I/O error"
            | "attempt to write a readonly database"
            | "unable to open database file"
    ) || [": No space left on device", ": Input/output error"]
        .iter()
        .any(|words| message.ends_with(words))
}

/// Why an operation has no result.
#[derive(Debug)]
pub enum Aborted<R> {
    /// The operation refuses.
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
    /// Returns the failure of a change that never refuses.
    #[must_use]
    pub fn failure(self) -> StorageError {
        match self {
            Self::Failed(error) => error,
            Self::Refused(never) => match never {},
        }
    }
}
