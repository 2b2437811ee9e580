//! The errors of a store, by what a caller can do about them.

use diesel::result::{DatabaseErrorKind, Error};
use thiserror::Error;

/// The error of a library that is the cause of a [`StorageError`]. It is only logged.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A failure of the store or its database.
#[derive(Debug, Error)]
pub enum StorageError {
    /// A concurrent change has committed first, or a unique or foreign key forbids the write. The
    /// same change may succeed on the new state.
    #[error("a concurrent change got in between")]
    Conflict,
    /// The database cannot be reached, is locked or slow, or cannot be written at the moment, such as
    /// when the disk is full. Nothing was changed, and a later try may succeed.
    #[error("the database cannot be reached")]
    Unavailable(#[source] Cause),
    /// Another transaction holds a lock that the statement needs, for longer than the statement may
    /// wait. Nothing was changed, and a later try may succeed.
    #[error("another transaction holds a lock for too long")]
    Locked(#[source] Cause),
    /// There is no room for a change, or no connection for a query, because too many others are in
    /// progress or take too long. Nothing was changed, and a later try may succeed.
    #[error("the store is too busy: {0}")]
    Crowded(&'static str),
    /// The store is closed, or the change panicked.
    #[error("the store is closed")]
    Closed,
    /// Another process uses the same SQLite file, or the file cannot be locked.
    #[error("{0}")]
    InUse(String),
    /// This version of the program cannot use the database, such as because a newer program has
    /// migrated it or because its settings are unsafe.
    #[error("{0}")]
    Version(String),
    /// A stored value does not fit the type that it is parsed into.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// Any other failure.
    #[error("the database failed")]
    Other(#[source] Cause),
}

/// The error for a stored value that does not fit the type that it is parsed into. The value is not
/// shown, since it may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the database holds a value in {table}.{column} that does not fit the contract")]
pub struct Corrupt {
    /// The table that contains the value.
    pub table: &'static str,
    /// The column that contains the value.
    pub column: &'static str,
}

/// PostgreSQL's English message for a deadlock, by which it is recognised: diesel does not pass on
/// the error code.
const DEADLOCK: &str = "deadlock detected";

/// PostgreSQL's English message for a wait that `lock_timeout` has ended (SQLSTATE 55P03).
pub(super) const LOCKED: &str = "canceling statement due to lock timeout";

/// SQLite's message for a failure of the operating system (`SQLITE_IOERR`).
const DISK: &str = "disk I/O error";

impl StorageError {
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }

    /// Returns whether SQLite could not read or write a file, or wait until it is on the disk.
    pub(super) fn is_of_disk(&self) -> bool {
        let Self::Unavailable(cause) = self else {
            return false;
        };
        matches!(
            cause.downcast_ref(),
            Some(Error::DatabaseError(DatabaseErrorKind::Unknown, info)) if info.message() == DISK
        )
    }

    /// Returns whether the database rejected a statement with an error code unknown to diesel.
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
            Error::DatabaseError(Unknown, info) if info.message() == LOCKED => {
                Self::Locked(error.into())
            }
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

/// Checks that a statement has found its row, at the revision that was read before if it names one. If not,
/// another transaction has changed or deleted the row meanwhile.
pub(super) fn ensure_touched(rows: usize) -> Result<(), StorageError> {
    if rows == 1 {
        Ok(())
    } else {
        Err(StorageError::Conflict)
    }
}

/// Returns whether an error message of the database means that it cannot be written or read at the
/// moment: it is locked, read-only or cannot be opened, or the disk is full or fails. diesel passes
/// on the message, but not the error code.
///
/// The messages of SQLite are those of `SQLITE_BUSY`, `SQLITE_LOCKED`, `SQLITE_FULL`,
/// `SQLITE_IOERR`, `SQLITE_READONLY` and `SQLITE_CANTOPEN`. Those of PostgreSQL end with the
/// message of the operating system, here in English.
fn is_unwritable(message: &str) -> bool {
    matches!(
        message,
        "database is locked"
            | "database table is locked"
            | "database or disk is full"
            | DISK
            | "attempt to write a readonly database"
            | "unable to open database file"
    ) || [": No space left on device", ": Input/output error"]
        .iter()
        .any(|words| message.ends_with(words))
}

/// The reason why an operation has no result: it refuses, or the database failed.
#[derive(Debug)]
pub enum Aborted<R> {
    /// The operation refuses for this reason. Nothing was changed.
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
    /// Returns the error of the database. Only a change that never refuses has this method.
    #[must_use]
    pub fn failure(self) -> StorageError {
        match self {
            Self::Failed(error) => error,
            Self::Refused(never) => match never {},
        }
    }
}
