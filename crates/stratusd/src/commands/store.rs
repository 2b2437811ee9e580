//! The database, as commands other than `serve` use it.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use stratusd::settings::StoreSettings;
use stratusd::storage::{SILENCE, Store, StoreConfig};
use stratusd::world::World;

/// How long a statement of a command may take. Much longer than in the service: an inventory may be
/// large, and another `stratusd apply` may hold the lock.
const STATEMENT_TIMEOUT: Duration = Duration::from_hours(1);

/// Runs a task of a command that only uses the database, on a runtime with one worker thread.
pub(super) fn block_on<T>(task: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime
        .context("failed to start the runtime")?
        .block_on(task)
}

/// Opens the database that the settings name.
///
/// # Errors
///
/// If it is a file that does not exist. An empty one in its place would say that there is nothing, while the
/// right one is elsewhere.
pub(super) async fn open(settings: &StoreSettings) -> Result<Store> {
    let config = config(settings)?;
    if let Some(file) = config.database.missing_file() {
        bail!(
            "there is no database {}: pass --database-url, or set STRATUS_DATABASE_URL; `stratusd apply` and \
             `stratusd serve` create one",
            file.display()
        );
    }
    open_or_create(&config).await
}

/// Opens a database, which is created if it is a file that does not exist.
pub(super) async fn open_or_create(config: &StoreConfig) -> Result<Store> {
    Store::open(config)
        .await
        .context("failed to open the database")
}

/// Returns how commands use the database that the settings name.
pub(super) fn config(settings: &StoreSettings) -> Result<StoreConfig> {
    Ok(StoreConfig {
        database: settings.database_url.database()?,
        // Commands run one statement after the other.
        connections: 1,
        patience: STATEMENT_TIMEOUT,
        silence: SILENCE,
        // Nobody waits for the connection of a command.
        lock_wait: STATEMENT_TIMEOUT,
        world: World::real(),
    })
}
