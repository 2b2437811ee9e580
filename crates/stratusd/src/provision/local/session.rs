//! What the service asks the server of a database, as its superuser over its Unix socket, which no
//! other user can reach.

use std::time::Duration;

use postgres_protocol::password::scram_sha_256;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use super::address::PORT;
use super::folder::Database;
use crate::provision::{Password, ProvisionError};

/// How long a statement or a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns whether a server accepts connections. One that refuses this one for another reason, such
/// as that it has too many, does.
pub(super) async fn is_ready(database: &Database) -> bool {
    match connect(database).await {
        Ok(_) => true,
        Err(error) => error
            .code()
            .is_some_and(|code| *code != SqlState::CANNOT_CONNECT_NOW),
    }
}

/// Sets the password of the user `postgres`. The server gets only what it stores of a password, so
/// that no log of it has more.
pub(super) async fn set_password(
    database: &Database,
    password: &Password,
) -> Result<(), ProvisionError> {
    let stored = scram_sha_256(password.expose().as_bytes());
    // Base 64 and `$`, `:` and `-`.
    debug_assert!(!stored.contains(['\'', '\\']), "it needs no escapes");
    execute(
        database,
        &format!("ALTER ROLE postgres PASSWORD '{stored}'"),
    )
    .await
}

/// Ends the sessions of clients whose address is in none of the networks.
pub(super) async fn end_others(
    database: &Database,
    networks: &[String],
) -> Result<(), ProvisionError> {
    let client = connect(database).await.map_err(refused)?;
    let statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE client_addr IS NOT NULL \
                     AND NOT client_addr <<= ANY ($1::text[]::inet[])";
    let ended = async { client.query(statement, &[&networks]).await };
    let ended = tokio::time::timeout(PATIENCE, ended).await;
    ended.map_err(|_| late())?.map_err(refused)?;
    Ok(())
}

async fn execute(database: &Database, statement: &str) -> Result<(), ProvisionError> {
    let client = connect(database).await.map_err(refused)?;
    let executed = tokio::time::timeout(PATIENCE, client.batch_execute(statement));
    executed.await.map_err(|_| late())?.map_err(refused)
}

async fn connect(database: &Database) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = Config::new()
        .host_path(database.locked.path("socket"))
        .port(PORT)
        .user("postgres")
        .dbname("postgres")
        .connect_timeout(PATIENCE)
        // A database that is full is read-only for its owner, not for the service.
        .options("-c default_transaction_read_only=off -c log_statement=none")
        .connect(NoTls)
        .await?;
    // Ends when the client is dropped.
    tokio::spawn(connection);
    Ok(client)
}

fn refused(error: tokio_postgres::Error) -> ProvisionError {
    // The code alone where there is one: a message may repeat parts of a statement.
    let reason = match error.code() {
        Some(code) => format!("error {}", code.code()),
        None => "no connection".to_owned(),
    };
    ProvisionError(format!("the server refuses a statement: {reason}"))
}

fn late() -> ProvisionError {
    ProvisionError("the server does not answer in time".to_owned())
}
