//! Brings a database to the version of this program.

use rusqlite_migration::{M, MigrationDefinitionError, Migrations};
use sqlx::migrate::{MigrateError, Migrator};

use super::StorageError;

static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");
const SQLITE: &[M<'static>] = &[M::up(include_str!("../../migrations/sqlite/0001_resources.sql"))];

const NEWER: &str = "the database is newer than this program; start the newer program, or restore a backup from \
                     before it ran";

/// Brings a PostgreSQL database to this version, under an advisory lock.
pub(super) async fn postgres(pool: &sqlx::PgPool) -> Result<(), StorageError> {
    POSTGRES.run(pool).await.map_err(|error| match error {
        MigrateError::VersionMissing(_) => StorageError::Version(NEWER.to_owned()),
        MigrateError::VersionMismatch(version) => StorageError::Version(format!(
            "migration {version} of the database is not the one of this program; is it another product's database?"
        )),
        MigrateError::Dirty(version) => StorageError::Version(format!(
            "migration {version} was left unfinished; restore the database from a backup"
        )),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        other => StorageError::Version(format!("the database cannot be migrated: {other}")),
    })
}

/// Brings an SQLite database to this version. The caller holds the lock.
pub(super) fn sqlite(connection: &mut rusqlite::Connection) -> Result<(), StorageError> {
    Migrations::from_slice(SQLITE).to_latest(connection).map_err(|error| match error {
        rusqlite_migration::Error::MigrationDefinition(MigrationDefinitionError::DatabaseTooFarAhead) => {
            StorageError::Version(NEWER.to_owned())
        }
        rusqlite_migration::Error::RusqliteError { err, .. } => err.into(),
        other => StorageError::Version(format!("the database cannot be migrated: {other}")),
    })
}
