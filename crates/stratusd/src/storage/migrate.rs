//! Brings a database to the version of this program.

use sqlx::migrate::{MigrateError, Migrator};

use super::StorageError;

pub(super) static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
pub(super) static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// What is wrong with the version of a database, in words.
pub(super) fn refusal(error: MigrateError) -> StorageError {
    match error {
        MigrateError::VersionMissing(version) => StorageError::Version(format!(
            "the database is newer than this program, which does not know its migration {version}; start the newer \
             program, or restore a backup from before it ran"
        )),
        MigrateError::VersionMismatch(version) => StorageError::Version(format!(
            "migration {version} of the database is not the one of this program; is it another product's database?"
        )),
        MigrateError::Dirty(version) => StorageError::Version(format!(
            "migration {version} was left unfinished; restore the database from a backup"
        )),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        other => StorageError::Version(format!("the database cannot be migrated: {other}")),
    }
}
