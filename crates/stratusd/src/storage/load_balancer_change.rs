//! The changes of load balancers: which have changed since a reader last looked. Triggers of the
//! database write the rows.

use api_types::{LoadBalancerId, ProjectId};

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};

record! {
    /// A change of a load balancer, of its virtual machines or of their addresses.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    pub struct LoadBalancerChange in "load_balancer_change" {
        /// The number: on SQLite of the change, on PostgreSQL of its transaction.
        pub number: i64,
        /// The id of the project.
        pub project_id: ProjectId,
        /// The id of the load balancer, which may be gone.
        pub load_balancer_id: LoadBalancerId,
    }
    columns change_columns;
}

record! {
    struct Position in "load_balancer_change" {
        position: i64,
    }
}

/// Returns the number from which on a later reader may find changes that this transaction does not
/// see.
///
/// On PostgreSQL it is the lowest number of a transaction that is still in progress, and a later
/// reader may find changes again that this one has seen: a transaction with a higher number may have
/// been committed already.
pub async fn position(c: &mut Connection<'_>) -> Result<i64, StorageError> {
    // Not the largest number in the table, which would go back when old rows are deleted.
    let sql = statement! {
        sqlite: "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'load_balancer_change'), 0) + 1 AS position",
        postgres: "SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT) AS position",
    };
    let found = c.fetch_optional::<Position>(sql, &[]).await?;
    Ok(found.map_or(0, |found| found.position))
}

/// Returns all changes from a position on, in the order of their numbers.
pub async fn since(
    c: &mut Connection<'_>,
    position: i64,
) -> Result<Vec<LoadBalancerChange>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        change_columns!(),
        " FROM load_balancer_change AS t WHERE t.number >= $1 ORDER BY t.number"
    ));
    c.fetch_all::<LoadBalancerChange>(sql, &[&position]).await
}

/// Deletes up to `limit` changes from before a time, the oldest first, and returns their number. The
/// time is in milliseconds since 1970.
pub async fn sweep(c: &mut Connection<'_>, before: i64, limit: i64) -> Result<usize, StorageError> {
    // As in the sweep of idempotency keys.
    let sql = statement! {
        sqlite: "DELETE FROM load_balancer_change WHERE number IN (SELECT number FROM load_balancer_change \
                 WHERE at < $1 ORDER BY at LIMIT CAST($2 AS BIGINT))",
        postgres: "WITH gone AS MATERIALIZED (SELECT number, project_id, load_balancer_id FROM load_balancer_change \
                   WHERE at < $1 ORDER BY at LIMIT CAST($2 AS BIGINT) FOR UPDATE SKIP LOCKED) \
                   DELETE FROM load_balancer_change AS t USING gone WHERE t.number = gone.number \
                   AND t.project_id = gone.project_id AND t.load_balancer_id = gone.load_balancer_id",
    };
    c.touch(sql, &[&before, &limit]).await
}
