//! The audit trail: an entry for each change, written in the transaction of the change.

use api_types::ProjectId;

use super::clock::postgres_now;
use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};
use crate::world::World;

record! {
    /// An entry of the trail.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Entry in "audit" {
        /// The project that owns the resource, which may have been removed since.
        pub project_id: ProjectId,
        /// When the change was made by the [clock of the database](super::clock), in milliseconds since
        /// 1970.
        pub at: i64,
        /// The id of the caller's token, or [`OPERATOR`](crate::domain::audit::OPERATOR) or
        /// [`RECONCILER`](crate::domain::audit::RECONCILER).
        pub principal: String,
        /// The operation, such as `postgres_create`.
        pub operation: String,
        /// The id of the resource, which also says of which kind it is.
        pub resource: String,
        /// The id of the request. `None` if the change was made without one.
        pub request_id: Option<String>,
    }
    columns entry_columns;
}

/// An entry to insert. The database gives it the time.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// The project that owns the resource.
    pub project_id: ProjectId,
    /// The principal.
    pub principal: String,
    /// The operation.
    pub operation: String,
    /// The id of the resource.
    pub resource: String,
    /// The id of the request. `None` if the change is made without one.
    pub request_id: Option<String>,
}

/// Which entries to read.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Only entries of this project.
    pub project: Option<ProjectId>,
    /// Only entries with this principal.
    pub principal: Option<String>,
    /// Only entries with this operation.
    pub operation: Option<String>,
    /// Only entries about the resource with this id.
    pub resource: Option<String>,
    /// The earliest time, in milliseconds since 1970.
    pub since: i64,
    /// The end of the time, in milliseconds since 1970. Entries of this time are left out.
    pub until: i64,
    /// How many entries to read at most.
    pub limit: i64,
}

/// Inserts an entry, after those that the project has of the same time.
///
/// The time is that of the database when the statement runs. So of two changes of which one waits for
/// the other, such as those of one resource, the later one has the later entry, whichever replica makes
/// it.
pub async fn insert(
    c: &mut Connection<'_>,
    new: &NewEntry,
    world: &World,
) -> Result<(), StorageError> {
    let sql = statement! {
        sqlite: "INSERT INTO audit (project_id, at, number, principal, operation, resource, request_id) VALUES ($1, $2, \
                 COALESCE((SELECT t.number + 1 FROM audit AS t WHERE t.project_id = $1 AND t.at = $2 \
                 ORDER BY t.number DESC LIMIT 1), 0), $3, $4, $5, $6)",
        postgres: concat!(
            "INSERT INTO audit (project_id, at, principal, operation, resource, request_id) VALUES ($1, ",
            postgres_now!(),
            ", $3, $4, $5, $6)"
        ),
    };
    c.insert(
        sql,
        &[
            &new.project_id,
            &world.database_now(),
            &new.principal,
            &new.operation,
            &new.resource,
            &new.request_id,
        ],
    )
    .await
}

/// Returns the newest entries that a filter selects, newest first.
///
/// The entries of a project, and those of all projects, are each read along an index that is in the
/// order of time. Those that the other properties of the filter leave out are read and dropped.
pub async fn newest(c: &mut Connection<'_>, of: &Filter) -> Result<Vec<Entry>, StorageError> {
    macro_rules! selected {
        ($columns:expr, $project:literal, $order:literal) => {
            concat!(
                "SELECT ",
                $columns,
                " FROM audit AS t WHERE ",
                $project,
                "t.at >= $1 AND t.at < $2 AND ($3 IS NULL OR t.principal = $3) \
                 AND ($4 IS NULL OR t.operation = $4) AND ($5 IS NULL OR t.resource = $5) ORDER BY ",
                $order
            )
        };
    }
    let Filter {
        project,
        principal,
        operation,
        resource,
        since,
        until,
        limit,
    } = of;
    if let Some(project) = project {
        let sql = statement!(concat!(
            selected!(
                entry_columns!(),
                "t.project_id = $7 AND ",
                "t.at DESC, t.number DESC"
            ),
            " LIMIT CAST($6 AS BIGINT)"
        ));
        c.fetch_all(
            sql,
            &[since, until, principal, operation, resource, limit, project],
        )
        .await
    } else {
        // The index of PostgreSQL has the times alone, so what has the time of the last entry is read too.
        // Otherwise, the planner may sort all entries by the other columns.
        let sql = statement! {
            sqlite: concat!(
                selected!(entry_columns!(), "", "t.at DESC, t.project_id DESC, t.number DESC"),
                " LIMIT CAST($6 AS BIGINT)"
            ),
            postgres: concat!(
                "SELECT ",
                entry_columns!(),
                " FROM (",
                selected!("*", "", "t.at DESC"),
                " FETCH FIRST (CAST($6 AS BIGINT)) ROWS WITH TIES) AS t \
                 ORDER BY t.at DESC, t.project_id DESC, t.number DESC LIMIT CAST($6 AS BIGINT)"
            ),
        };
        c.fetch_all(sql, &[since, until, principal, operation, resource, limit])
            .await
    }
}

record! {
    /// The key of an entry that is too old.
    struct Old in "audit" {
        project_id: ProjectId,
        at: i64,
        number: i64,
    }
}

/// Deletes up to `limit` entries from before a time, the oldest first, in all projects, and returns
/// their number. The time is in milliseconds since 1970.
pub async fn sweep(c: &mut Connection<'_>, before: i64, limit: i64) -> Result<usize, StorageError> {
    // As in the sweep of idempotency keys.
    if c.is_postgres() {
        let sql = "WITH gone AS MATERIALIZED (SELECT project_id, at, number FROM audit WHERE at < $1 \
                   ORDER BY at LIMIT CAST($2 AS BIGINT) FOR UPDATE SKIP LOCKED) DELETE FROM audit AS t USING gone \
                   WHERE t.project_id = gone.project_id AND t.at = gone.at AND t.number = gone.number";
        return c.execute(sql, &[&before, &limit]).await;
    }
    let old = statement!(
        "SELECT project_id, at, number FROM audit WHERE at < $1 ORDER BY at LIMIT CAST($2 AS BIGINT)"
    );
    let old = c.fetch_all::<Old>(old, &[&before, &limit]).await?;
    delete(c, &old).await
}

record! {
    /// The time of an entry.
    struct At in "audit" {
        at: i64,
    }
}

/// Returns the time of the entry of a project that has exactly `passed` newer ones among those from before
/// a time. Returns `None` if there are not so many.
///
/// The newer entries are read, so let these be few.
pub async fn passing(
    c: &mut Connection<'_>,
    project: &ProjectId,
    before: i64,
    passed: i64,
) -> Result<Option<i64>, StorageError> {
    let sql = statement!(
        "SELECT at FROM audit WHERE project_id = $1 AND at < $2 \
         ORDER BY at DESC, number DESC LIMIT 1 OFFSET CAST($3 AS BIGINT)"
    );
    let found = c
        .fetch_optional::<At>(sql, &[project, &before, &passed])
        .await?;
    Ok(found.map(|At { at }| at))
}

/// Deletes up to `limit` entries of a project from before a time, the oldest first, and returns their
/// number.
pub async fn sweep_of(
    c: &mut Connection<'_>,
    project: &ProjectId,
    before: i64,
    limit: i64,
) -> Result<usize, StorageError> {
    // As in the sweep of all projects.
    if c.is_postgres() {
        let sql = "WITH gone AS MATERIALIZED (SELECT at, number FROM audit WHERE project_id = $1 AND at < $2 \
                   ORDER BY at, number LIMIT CAST($3 AS BIGINT) FOR UPDATE SKIP LOCKED) DELETE FROM audit AS t \
                   USING gone WHERE t.project_id = $1 AND t.at = gone.at AND t.number = gone.number";
        return c.execute(sql, &[project, &before, &limit]).await;
    }
    let old = statement!(
        "SELECT project_id, at, number FROM audit WHERE project_id = $1 AND at < $2 \
         ORDER BY at, number LIMIT CAST($3 AS BIGINT)"
    );
    let old = c.fetch_all::<Old>(old, &[project, &before, &limit]).await?;
    delete(c, &old).await
}

/// Deletes entries, and returns their number.
async fn delete(c: &mut Connection<'_>, old: &[Old]) -> Result<usize, StorageError> {
    let sql = statement!("DELETE FROM audit WHERE project_id = $1 AND at = $2 AND number = $3");
    for Old {
        project_id,
        at,
        number,
    } in old
    {
        c.execute(sql, &[project_id, at, number]).await?;
    }
    Ok(old.len())
}
