//! The clock by which leases and idempotency keys end, databases become due for the reconciler, and
//! entries of the audit trail are made and are too old.

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};
use crate::world::World;

record! {
    /// A time in milliseconds since 1970.
    pub(super) struct Time in "clock" {
        pub now: i64,
    }
}

/// The time of the server as an expression of PostgreSQL, in milliseconds since 1970.
macro_rules! postgres_now {
    () => {
        "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}

pub(super) use postgres_now;

/// Returns the time of the database, in milliseconds since 1970.
///
/// On PostgreSQL it is the time of the server, so replicas agree on it even if their own clocks
/// differ. On SQLite, where a single process serves the database, it is the time of that process.
pub async fn now(c: &mut Connection<'_>, world: &World) -> Result<i64, StorageError> {
    let sql = statement! {
        sqlite: "SELECT $1 AS now",
        postgres: concat!("SELECT ", postgres_now!(), " AS now"),
    };
    let time = c
        .fetch_optional::<Time>(sql, &[&world.database_now()])
        .await?;
    Ok(time.map_or_else(|| world.database_now(), |time| time.now))
}
