//! Migrations, which bring the tables of a database to the version of this program.

use std::collections::BTreeSet;

use diesel::backend::Backend;
use diesel::migration::{MigrationSource, MigrationVersion};
use diesel::sql_types::Text;
use diesel::sqlite::Sqlite;
use diesel::{QueryableByName, SqliteConnection};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::{Cause, StorageError};

const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// The error for a database without tables that must not be migrated.
pub(super) const EMPTY: &str =
    "the database has no tables yet: start `stratusd serve`, which makes them";

const OLDER: &str = "the database is older than this program: start `stratusd serve` of this version, which migrates it";

const NEWER: &str = "the database is newer than this program; start the newer program, or restore a backup from \
                     before it ran";

/// Checks that exactly the migrations of this program have been applied to a database.
///
/// # Errors
///
/// If this program has migrated it not yet, or a newer one has.
pub(super) fn ensure_current(
    applied: impl IntoIterator<Item = String>,
) -> Result<(), StorageError> {
    let known = MigrationSource::<Sqlite>::migrations(&SQLITE);
    let known = known.map_err(|error| StorageError::Version(error.to_string()))?;
    let known: BTreeSet<String> = known
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect();
    let applied: BTreeSet<String> = applied.into_iter().collect();
    let wrong = if applied.difference(&known).next().is_some() {
        NEWER
    } else if applied.len() < known.len() {
        OLDER
    } else {
        return Ok(());
    };
    Err(StorageError::Version(wrong.to_owned()))
}

/// The encoding in which a PostgreSQL database stores strings.
#[derive(QueryableByName)]
struct Encoding {
    #[diesel(sql_type = Text)]
    server_encoding: String,
}

/// Migrates a PostgreSQL database, under an advisory lock that ends with the connection.
///
/// # Errors
///
/// If the database is not encoded in UTF-8, a newer program has migrated it, or a migration fails.
pub(super) async fn postgres(mut connection: AsyncPgConnection) -> Result<(), StorageError> {
    // Without the first setting, the server logs a notice for each table that exists. The number of
    // the lock means nothing; all processes that migrate must use the same.
    connection
        .batch_execute("SET client_min_messages = warning; SELECT pg_advisory_lock(7597125)")
        .await?;
    let encoding: Vec<Encoding> = diesel::sql_query("SHOW server_encoding")
        .load(&mut connection)
        .await?;
    if let Some(Encoding { server_encoding }) =
        encoding.into_iter().find(|it| it.server_encoding != "UTF8")
    {
        let message = format!(
            "the database holds texts in {server_encoding}, and must hold them in UTF8: make another with CREATE \
             DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        );
        return Err(StorageError::Version(message));
    }
    let run = move || {
        migrate(
            &mut AsyncConnectionWrapper::<AsyncPgConnection>::from(connection),
            POSTGRES,
        )
    };
    tokio::task::spawn_blocking(run)
        .await
        .map_err(|error| StorageError::Other(error.into()))?
}

/// Migrates an SQLite database. The caller must hold the lock file beside the database, so that no
/// other process migrates it at the same time.
///
/// # Errors
///
/// If a newer program has migrated the database, or a migration fails.
pub(super) fn sqlite(connection: &mut SqliteConnection) -> Result<(), StorageError> {
    migrate(connection, SQLITE)
}

fn migrate<DB: Backend>(
    harness: &mut impl MigrationHarness<DB>,
    migrations: EmbeddedMigrations,
) -> Result<(), StorageError> {
    let failed = |error: Cause| match error.downcast::<diesel::result::Error>() {
        Ok(error) => StorageError::from(*error),
        Err(error) => StorageError::Version(format!("the database cannot be migrated: {error}")),
    };
    let known = MigrationSource::<DB>::migrations(&migrations).map_err(failed)?;
    let is_known = |version: &MigrationVersion<'_>| {
        known.iter().any(|known| known.name().version() == *version)
    };
    if !harness
        .applied_migrations()
        .map_err(failed)?
        .iter()
        .all(is_known)
    {
        return Err(StorageError::Version(NEWER.to_owned()));
    }
    harness.run_pending_migrations(migrations).map_err(failed)?;
    Ok(())
}
