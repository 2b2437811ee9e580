//! The settings of each session with PostgreSQL: durability, plans, and time limits by which the server
//! ends a statement, and a backend whose client is gone.

use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use crate::storage::StorageError;

/// The difference between the server's time limit of a statement and the client's, which is
/// shorter. So usually the client stops waiting first, and knows why.
const MARGIN: Duration = Duration::from_secs(1);
/// The number of unacknowledged TCP keepalive probes after which the server closes a connection.
const PROBES: u32 = 3;
/// How long the server takes at most to find out who connects, and longer than its
/// `authentication_timeout`, which is a minute unless an administrator changes it.
const AUTHENTICATION: Duration = Duration::from_secs(61);

/// The time limits of a session and of its statements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How long a statement may take, including its waits for locks.
    pub patience: Duration,
    /// How long a statement may wait for a lock. It is shorter than `patience`, so that the server
    /// ends the statement by itself and no request to cancel is needed.
    pub locks: Duration,
    /// How long a connection is idle before the server sends a TCP keepalive probe, and the interval
    /// between two probes, in seconds: TCP has no smaller unit. After [`PROBES`] unacknowledged probes
    /// the server closes the connection.
    probe: u64,
}

impl Limits {
    /// Creates the limits for statements that may take `patience`: a wait for a lock may take 90 %
    /// of it. The server closes a connection whose client does not respond for about `silence`.
    pub(super) fn new(patience: Duration, silence: Duration) -> Self {
        let probe = silence.as_secs() / u64::from(PROBES + 1);
        Self {
            patience,
            locks: patience / 10 * 9,
            probe: probe.max(1),
        }
    }

    /// Returns these limits with waits for locks of at most `lock_wait`, if that is shorter.
    pub(super) fn with_lock_wait(self, lock_wait: Duration) -> Self {
        Self {
            locks: self.locks.min(lock_wait),
            ..self
        }
    }

    /// Returns how long a backend that has these limits can run after its client has gone without
    /// closing the connection: until the server's time limit ends its statement, and then until the
    /// server notices that the client does not respond.
    pub(super) fn without_client(self) -> Duration {
        self.patience + MARGIN + Duration::from_secs(self.probe) * (PROBES + 1)
    }

    /// Returns how long a connection may take that the server has not accepted yet. Its backend does
    /// not have these limits, and does not notice that its client is gone while it waits, such as for
    /// a lock on the table of users. Until then, the server ends it.
    pub(super) fn to_connect(self) -> Duration {
        self.without_client().max(AUTHENTICATION)
    }

    /// Returns the statements that set these limits, how statements are planned, and durability in a
    /// session. They override the settings of the database, the role and the URL, except for the
    /// stronger `synchronous_commit = remote_apply`.
    pub(super) fn set_up(self) -> String {
        let (statement, locks) = (millis(self.patience + MARGIN), millis(self.locks));
        let probe = self.probe;
        let silence = millis(Duration::from_secs(probe) * PROBES);
        format!(
            "SET statement_timeout = {statement}; \
             SET lock_timeout = {locks}; \
             SET idle_in_transaction_session_timeout = {statement}; \
             SET tcp_user_timeout = {silence}; \
             SET tcp_keepalives_idle = {probe}; \
             SET tcp_keepalives_interval = {probe}; \
             SET tcp_keepalives_count = {PROBES}; \
             {PLANS}; \
             {DURABLE}"
        )
    }
}

/// Statements after which the plan of a statement depends neither on its values nor on the state of its
/// tables: each statement of the service has an index that finds its rows, one after the other.
///
/// By default, the server plans a statement anew for each project where projects are large, which takes
/// longer than to run it. It reads a table without an index while that is small, and keeps this plan when
/// the table has grown. To spare a row, it reads all entries of a project in an index that has all
/// columns, if the table was vacuumed lately. A plan for all values supposes that a limit is a tenth of the rows, and
/// so would join whole tables, and be compiled.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
                     SET enable_indexonlyscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
                     SET jit = off";

/// A statement after which the server acknowledges a commit only when it is on disk, also on that
/// of the synchronous standbys if there are any. It sets `synchronous_commit` to `on`, but keeps
/// `remote_apply`, which is stronger.
const DURABLE: &str = "SELECT set_config('synchronous_commit', \
                       CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' \
                       ELSE 'on' END, FALSE)";

/// Returns the statements that set up a session for migrations: without time limits, since a
/// migration may take long and waits while another replica migrates.
pub(super) fn unlimited() -> String {
    format!(
        "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; {DURABLE}"
    )
}

/// The name of a setting of the server.
#[derive(QueryableByName)]
struct Setting {
    #[diesel(sql_type = Text)]
    name: String,
}

/// Logs a warning for each setting of the server that is off although a crash of its machine can
/// then lose or corrupt acknowledged changes: `fsync` and `full_page_writes`, which no session can
/// change.
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

/// Converts a time to milliseconds, at most `i32::MAX`, the largest value of a setting.
pub(super) fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_limits_of_a_session_add_up() {
        let limits = Limits::new(seconds(10), seconds(40));
        let set_up = limits.set_up();
        for statement in [
            "SET statement_timeout = 11000;",
            "SET lock_timeout = 9000;",
            "SET idle_in_transaction_session_timeout = 11000;",
            "SET tcp_user_timeout = 30000;",
            "SET tcp_keepalives_idle = 10;",
            "SET tcp_keepalives_interval = 10;",
            "SET tcp_keepalives_count = 3;",
            "SET enable_seqscan = off;",
            "set_config('synchronous_commit'",
        ] {
            assert!(set_up.contains(statement), "{statement}: {set_up}");
        }
        // The statement, then the first probe, and three that nobody acknowledges.
        assert_eq!(limits.without_client(), seconds(10 + 1 + 4 * 10));
        assert_eq!(limits.to_connect(), seconds(61));
        let patient = Limits::new(seconds(60), seconds(40));
        assert_eq!(patient.to_connect(), seconds(60 + 1 + 4 * 10));
        assert_eq!(Limits::new(seconds(10), seconds(1)).probe, 1);
        for (wanted, lock_wait) in [(1, 1), (20, 9)] {
            let limits = limits.with_lock_wait(seconds(wanted));
            assert_eq!(limits.locks, seconds(lock_wait));
            assert_eq!(limits.patience, seconds(10));
        }
    }

    #[test]
    fn a_migration_has_no_limit_and_is_durable() {
        let set_up = unlimited();
        for statement in [
            "SET statement_timeout = 0;",
            "SET lock_timeout = 0;",
            "SET idle_in_transaction_session_timeout = 0;",
            "set_config('synchronous_commit'",
        ] {
            assert!(set_up.contains(statement), "{statement}: {set_up}");
        }
    }

    #[test]
    fn a_setting_has_a_largest_value() {
        assert_eq!(millis(Duration::from_millis(1_500)), 1_500);
        assert_eq!(millis(Duration::MAX), i32::MAX);
    }
}
