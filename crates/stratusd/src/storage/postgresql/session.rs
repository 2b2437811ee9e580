//! The settings of each session with PostgreSQL: limits that end a backend without its client, and
//! durability.

use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use crate::storage::StorageError;

/// How much longer than the client the server waits: so usually the client ends a statement, and
/// knows why.
const MARGIN: Duration = Duration::from_secs(1);
/// How long the server may miss acknowledgements before it takes a client for gone.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);
/// How long a connection is idle before the server sends a probe, and how long it waits between two
/// probes. After [`PROBES`] without a response the client is gone.
const PROBE: Duration = Duration::from_secs(10);
/// The number of unacknowledged probes after which the client is gone.
const PROBES: u32 = 3;

/// How long the statements of a session may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How long a statement may take, including the locks that it waits for.
    pub patience: Duration,
    /// How long a statement may wait for a lock. Shorter, so that the server ends the statement
    /// itself, which needs no request to cancel.
    pub locks: Duration,
}

impl Limits {
    /// Derives the limits of a session from how long a statement may take.
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience,
            locks: patience / 10 * 9,
        }
    }

    /// Returns how long a backend can live after its client has gone without a word: its statement
    /// ends by the server's limit, and then the server finds out that nobody acknowledges the
    /// response.
    pub(super) fn without_client(self) -> Duration {
        self.patience + MARGIN + UNACKNOWLEDGED.max(PROBE * (PROBES + 1))
    }

    /// Returns the statements that set up a session. They replace what the database, the role or
    /// the URL sets, except for the stronger `synchronous_commit = remote_apply`.
    pub(super) fn set_up(self) -> String {
        let (statement, locks) = (millis(self.patience + MARGIN), millis(self.locks));
        let (silence, probe) = (millis(UNACKNOWLEDGED), PROBE.as_secs());
        format!(
            "SET statement_timeout = {statement}; \
             SET lock_timeout = {locks}; \
             SET idle_in_transaction_session_timeout = {statement}; \
             SET tcp_user_timeout = {silence}; \
             SET tcp_keepalives_idle = {probe}; \
             SET tcp_keepalives_interval = {probe}; \
             SET tcp_keepalives_count = {PROBES}; \
             {DURABLE}"
        )
    }
}

/// A statement after which a commit is acknowledged once it is on the disk, and on that of the
/// synchronous standbys if there are any. Only `remote_apply` is stronger than `on`, and is kept.
const DURABLE: &str = "SELECT set_config('synchronous_commit', \
                       CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' \
                       ELSE 'on' END, FALSE)";

/// Returns the statements that set up a session for migrations: these may take as long as they
/// need, and wait as long as another replica migrates.
pub(super) fn unlimited() -> String {
    format!(
        "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; {DURABLE}"
    )
}

/// A setting of the server.
#[derive(QueryableByName)]
struct Setting {
    #[diesel(sql_type = Text)]
    name: String,
}

/// Logs which settings of the server, which no session can change, let a crash of its machine lose
/// or corrupt what was acknowledged.
pub(super) async fn warn_of_risks(connection: &mut AsyncPgConnection) -> Result<(), StorageError> {
    let sql = "SELECT CAST(name AS TEXT) AS name FROM pg_settings \
               WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name";
    let risks: Vec<Setting> = diesel::sql_query(sql).load(connection).await?;
    for Setting { name } in risks {
        tracing::warn!(
            "the database server has {name} off: if its machine crashes, acknowledged changes can be lost and the \
             database can be corrupt; set {name} to on"
        );
    }
    Ok(())
}

/// Returns a time in milliseconds, at most the largest number that a setting can hold.
fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}
