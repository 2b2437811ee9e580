//! The changes of load balancers, and of the networks of projects: which have changed since a reader
//! last looked. Triggers of the database write the rows.

use api_types::{LoadBalancerId, ProjectId};

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};

record! {
    /// A change of a load balancer, of its virtual machines or of their addresses, or of the networks
    /// of a project.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LoadBalancerChange in "load_balancer_change" {
        /// The number: on SQLite of the change, on PostgreSQL of its transaction.
        pub number: i64,
        /// The id of the project.
        pub project_id: ProjectId,
        /// The id of the load balancer, which may be gone, or the one that stands for the networks of
        /// the project.
        pub load_balancer_id: LoadBalancerId,
        /// When the row was written, in milliseconds since 1970.
        pub at: i64,
    }
    columns change_columns;
}

record! {
    struct Snapshot in "load_balancer_change" {
        table_id: i64,
        snapshot: String,
    }
}

/// Which changes a transaction sees, by which a later one finds those that it does not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The id of the table, which is another one after it was made anew.
    table: i64,
    /// The first number that no change had.
    next: i64,
    /// The lower numbers of transactions that were in progress, in rising order.
    in_progress: Vec<i64>,
    /// The last change of a lower number, if there was one.
    last: Option<LoadBalancerChange>,
}

/// A position in the changes since an earlier transaction, from which on they are read.
#[derive(Debug)]
pub struct Since {
    /// The numbers that are left, each up to the second one without it, in falling order.
    left: Vec<(i64, i64)>,
    /// The last change that was read of the first ones that are left.
    after: Option<LoadBalancerChange>,
}

impl Seen {
    /// Returns what a transaction sees.
    pub async fn load(c: &mut Connection<'_>) -> Result<Self, StorageError> {
        // The next number is not derived from the table, where it would go back when old rows are
        // deleted.
        let sql = statement! {
            sqlite: "SELECT 0 AS table_id, CAST(COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'load_balancer_change'), 0) + 1 AS TEXT) AS snapshot",
            postgres: "SELECT CAST(CAST(CAST('load_balancer_change' AS REGCLASS) AS OID) AS BIGINT) AS table_id, \
                       CAST(pg_current_snapshot() AS TEXT) AS snapshot",
        };
        let found = c.fetch_optional::<Snapshot>(sql, &[]).await?;
        let Some(Snapshot { table_id, snapshot }) = found else {
            return Err(StorageError::Other("there is no snapshot".into()));
        };
        let unread = |_| StorageError::Other(format!("{snapshot} is no snapshot").into());
        // PostgreSQL writes a snapshot as `xmin:xmax:xip_list`.
        let mut parts = snapshot.rsplitn(3, ':');
        let (next, in_progress) = match (parts.next(), parts.next()) {
            (Some(list), Some(next)) => (next, list),
            (next, _) => (next.unwrap_or_default(), ""),
        };
        let numbers = in_progress.split(',').filter(|number| !number.is_empty());
        let in_progress: Result<Vec<i64>, _> = numbers.map(str::parse).collect();
        let mut seen = Self {
            table: table_id,
            next: next.parse().map_err(unread)?,
            in_progress: in_progress.map_err(unread)?,
            last: None,
        };
        seen.in_progress.sort_unstable();
        seen.last = last_before(c, seen.next).await?;
        Ok(seen)
    }

    /// Returns where the changes begin that an earlier transaction has not seen, and this one, whose
    /// view is `self`, may see. Returns `None` if the database is not the one that the earlier
    /// transaction has read, such as one that was restored from a backup, or lacks changes that it has
    /// seen.
    pub async fn since(
        &self,
        c: &mut Connection<'_>,
        earlier: &Self,
    ) -> Result<Option<Since>, StorageError> {
        if self.table != earlier.table || self.next < earlier.next {
            return Ok(None);
        }
        // A restored database may have as many changes by now, but others. What a transaction has
        // committed late may be the last one.
        let last = last_before(c, earlier.next).await?;
        let is_late =
            |last: &LoadBalancerChange| earlier.in_progress.binary_search(&last.number).is_ok();
        if last != earlier.last && !last.as_ref().is_some_and(is_late) {
            return Ok(None);
        }
        // Those that are still in progress are looked for later. So a transaction that takes long has
        // nothing read again.
        let ended = earlier.in_progress.iter().copied();
        let ended = ended.filter(|number| self.in_progress.binary_search(number).is_err());
        let mut left = vec![(earlier.next, self.next)];
        left.extend(ended.map(|number| (number, number + 1)).rev());
        Ok(Some(Since { left, after: None }))
    }
}

impl Since {
    /// Returns the next changes, at most `limit` of them; none at the end.
    pub async fn page(
        &mut self,
        c: &mut Connection<'_>,
        limit: i64,
    ) -> Result<Vec<LoadBalancerChange>, StorageError> {
        let sql = statement!(concat!(
            "SELECT ",
            change_columns!(),
            " FROM load_balancer_change AS t \
             WHERE (t.number, t.project_id, t.load_balancer_id) > ($1, $2, $3) AND t.number < $4 \
             ORDER BY t.number, t.project_id, t.load_balancer_id LIMIT CAST($5 AS BIGINT)"
        ));
        while let Some((first, end)) = self.left.last() {
            let after = self.after.as_ref();
            let (number, project, id) = after.map_or((*first, "", ""), |last| {
                (
                    last.number,
                    last.project_id.as_str(),
                    last.load_balancer_id.as_str(),
                )
            });
            let page = c
                .fetch_all::<LoadBalancerChange>(sql, &[&number, &project, &id, end, &limit])
                .await?;
            self.after = page.last().cloned();
            if !page.is_empty() {
                return Ok(page);
            }
            self.left.pop();
        }
        Ok(Vec::new())
    }
}

/// Returns the last change of a lower number.
async fn last_before(
    c: &mut Connection<'_>,
    number: i64,
) -> Result<Option<LoadBalancerChange>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        change_columns!(),
        " FROM load_balancer_change AS t WHERE t.number < $1 \
         ORDER BY t.number DESC, t.project_id DESC, t.load_balancer_id DESC LIMIT 1"
    ));
    c.fetch_optional::<LoadBalancerChange>(sql, &[&number])
        .await
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
