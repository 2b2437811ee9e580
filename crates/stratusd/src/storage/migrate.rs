//! Migrations, which bring the tables of a database to the version of this program.

use std::collections::BTreeSet;
use std::time::Duration;

use diesel::backend::Backend;
use diesel::migration::{MigrationSource, MigrationVersion};
use diesel::sql_types::Text;
use diesel::sqlite::Sqlite;
use diesel::{QueryableByName, SqliteConnection};
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::error::LOCKED as LOCK_TIMEOUT;
use super::{Cause, StorageError};

const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// The error for a database without tables that must not be migrated.
pub(super) const EMPTY: &str =
    "the database has no tables yet: start `stratusd serve`, which makes them";

const OLDER: &str = "the database is older than this program: start `stratusd serve` of this version, which migrates it";

const UNREADABLE: &str =
    "the database is newer than this program can read: start this command of the newer program";

const LOCKED: &str = "the database cannot be migrated, because another transaction holds a table: start the service \
                      again once that has ended; pg_stat_activity shows it";

/// How long a migration may wait for a lock. While it waits, everything that needs the same table after
/// it waits too, so this is shorter than a request waits.
const LOCK_WAIT: Duration = Duration::from_secs(2);
/// How often a migration that waits for a lock is tried.
const TRIES: u32 = 5;
/// The pause between two tries, in which others have their turn.
const PAUSE: Duration = Duration::from_secs(2);

const NEWER: &str = "the database is newer than this program; start the newer program, or restore a backup from \
                     before it ran";

/// Checks that this program can read a database with these migrations. `oldest` is the version of the
/// last migration that a program must know to read the database, if not all programs can.
///
/// # Errors
///
/// If the database lacks a migration of this program, or a newer program has applied a migration
/// with which this program would read something wrong.
pub(super) fn ensure_readable(
    applied: impl IntoIterator<Item = String>,
    oldest: Option<&[u8]>,
) -> Result<(), StorageError> {
    let known = MigrationSource::<Sqlite>::migrations(&SQLITE);
    let known = known.map_err(|error| StorageError::Version(error.to_string()))?;
    let known: BTreeSet<String> = known
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect();
    let applied: BTreeSet<String> = applied.into_iter().collect();
    let knows = |version: &[u8]| known.iter().any(|known| known.as_bytes() == version);
    let wrong = if oldest.is_some_and(|oldest| !knows(oldest)) {
        UNREADABLE
    } else if known.is_subset(&applied) {
        return Ok(());
    } else {
        OLDER
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
/// If the database is not encoded in UTF-8, a newer program has migrated it, a migration fails, or
/// another transaction holds a table for too long.
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
    // After the wait for other replicas, which may migrate for long.
    let wait = format!("SET lock_timeout = {}", LOCK_WAIT.as_millis());
    connection.batch_execute(&wait).await?;
    let run = move || {
        let mut connection = AsyncConnectionWrapper::<AsyncPgConnection>::from(connection);
        for attempt in 1.. {
            match migrate(&mut connection, POSTGRES) {
                Err(StorageError::Locked(cause)) if attempt < TRIES => {
                    tracing::warn!(%cause, "a migration waits for a table that another transaction holds");
                    std::thread::sleep(PAUSE);
                }
                Err(StorageError::Locked(_)) => break,
                migrated => return migrated,
            }
        }
        Err(StorageError::Version(LOCKED.to_owned()))
    };
    // diesel runs migrations in blocking code, which must not hold a thread of the runtime.
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
        // diesel has a type of its own for a migration that fails, which it does not export.
        Err(error) if error.to_string().ends_with(LOCK_TIMEOUT) => StorageError::Locked(error),
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::read_only::OLDEST_READER;

    /// The tables that programs read which only read.
    const READ: [&str; 11] = [
        "load_balancer",
        "load_balancer_vm",
        "load_balancer_change",
        "vm",
        "nic",
        "private_subnet",
        "private_subnet_link",
        "firewall_subnet",
        "firewall_rule",
        "project",
        "service_state",
    ];
    /// The last migration before there was a rule.
    const BEFORE: &str = "0013";

    #[test]
    fn a_migration_of_what_the_data_plane_reads_says_which_programs_can_read_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
        for database in ["sqlite", "postgres"] {
            let entries = fs::read_dir(folder.join(database)).expect("there are migrations");
            for entry in entries {
                let path = entry.expect("it can be read").path();
                let name = path.file_name().and_then(|name| name.to_str());
                if name.is_none_or(|name| &name[..4] <= BEFORE) {
                    continue;
                }
                let sql = fs::read_to_string(path.join("up.sql")).expect("it can be read");
                let mut words = sql.split(|of: char| !of.is_ascii_alphanumeric() && of != '_');
                assert!(
                    !words.any(|word| READ.contains(&word)) || sql.contains(OLDEST_READER),
                    "{} changes what `stratusd balance` and `stratusd network` read: have it set {OLDEST_READER}, or say in a comment with \
                     this word that programs before it read the same",
                    path.display()
                );
            }
        }
    }
}
