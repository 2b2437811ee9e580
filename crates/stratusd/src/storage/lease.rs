//! Leases of Postgres databases, and what a reconciler writes while it holds one.
//!
//! `due_at` is when the reconciler is to look at a database. A worker that does so holds a lease
//! (`lease`, a random string, until `lease_until`), and its result counts only while the row still
//! has this lease.

use std::time::Duration;

use api_types::{
    CaCertificates, PostgresBackup, PostgresId, PostgresSize, PostgresState, PostgresVersion,
    ProjectId, StorageSizeGib,
};

use super::database::{Database, database_columns};
use super::record::{Record, Row, column};
use super::statement::{JsonArray, Parameter, Sql, statement};
use super::{Connection, Corrupt, StorageError, count};

/// A database that a worker has leased.
#[derive(Debug, Clone)]
pub struct Due {
    /// The project's id.
    pub project_id: ProjectId,
    /// The row of the database.
    pub database: Database,
    /// Whether the provisioner has the current password.
    pub password_is_set: bool,
    /// The number of restarts that are made.
    pub restarts: i64,
    /// The number of restarts that the owner has asked for.
    pub target_restarts: i64,
    /// The number of promotions of a standby that are made.
    pub promotions: i64,
    /// The number of promotions that the owner has asked for.
    pub target_promotions: i64,
    /// The number of steps that have failed since the last success.
    pub attempts: i64,
    /// Since when the database was due as it was leased, in milliseconds since 1970.
    pub due_at: i64,
}

impl Record for Due {
    const COLUMNS: usize = 8 + Database::COLUMNS;

    fn read(row: &dyn Row) -> Result<Self, Corrupt> {
        Ok(Self {
            project_id: column(row, "postgres_database", "project_id")?,
            password_is_set: column(row, "postgres_database", "password_is_set")?,
            restarts: column(row, "postgres_database", "restarts")?,
            target_restarts: column(row, "postgres_database", "target_restarts")?,
            promotions: column(row, "postgres_database", "promotions")?,
            target_promotions: column(row, "postgres_database", "target_promotions")?,
            attempts: column(row, "postgres_database", "attempts")?,
            due_at: column(row, "postgres_database", "due_at")?,
            database: Database::read(row)?,
        })
    }
}

/// The longest lease. One that ends later was given before the clock was set back, and does not
/// count.
pub const LONGEST_LEASE: Duration = Duration::from_hours(1);
/// The number of databases that are brought forward at once.
const FORWARD: i64 = 1000;

/// A part of the databases, which is searched and worked on apart from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Databases whose last step has succeeded, and those without one.
    Prompt,
    /// Databases whose last step has failed.
    Retried,
}

impl Lane {
    /// The lanes, which have all databases together.
    pub const ALL: [Self; 2] = [Self::Prompt, Self::Retried];
}

/// Chooses the text of a statement by a lane: the lane's condition is put between the parts. It is
/// written as that of the lane's index, by which both databases find that the index has all rows.
macro_rules! in_lane {
    ($lane:expr, |$condition:ident| $text:expr) => {
        match $lane {
            Lane::Prompt => {
                macro_rules! $condition {
                    () => {
                        "attempts = 0"
                    };
                }
                $text
            }
            Lane::Retried => {
                macro_rules! $condition {
                    () => {
                        "attempts > 0"
                    };
                }
                $text
            }
        }
    };
}

/// Returns whether any database of a lane is due and not leased by a worker. `now` is in milliseconds
/// since 1970.
pub async fn is_anything_due(
    c: &mut Connection<'_>,
    lane: Lane,
    now: i64,
) -> Result<bool, StorageError> {
    // The order decides the plan: PostgreSQL takes a third of all databases for due, and would look
    // for one of them by reading all.
    let sql = in_lane!(lane, |condition| concat!(
        "SELECT id FROM postgres_database WHERE due_at <= $1 AND ",
        condition!(),
        " AND (lease_until IS NULL OR lease_until < $1 OR lease_until > $2) ORDER BY due_at LIMIT 1"
    ));
    c.exists(sql, &[&now, &latest_lease(now)]).await
}

fn latest_lease(now: i64) -> i64 {
    now.saturating_add(i64::try_from(LONGEST_LEASE.as_millis()).unwrap_or(i64::MAX))
}

/// Returns whether a database of a lane is due later than a time, in milliseconds since 1970.
pub async fn is_anything_due_after(
    c: &mut Connection<'_>,
    lane: Lane,
    latest: i64,
) -> Result<bool, StorageError> {
    let sql = in_lane!(lane, |condition| concat!(
        "SELECT id FROM postgres_database WHERE due_at > $1 AND ",
        condition!(),
        " ORDER BY due_at LIMIT 1"
    ));
    c.exists(sql, &[&latest]).await
}

/// Makes databases of a lane due now that are due later than `latest`, a number of them at once. Times
/// are in milliseconds since 1970.
pub async fn bring_forward(
    c: &mut Connection<'_>,
    lane: Lane,
    latest: i64,
    now: i64,
) -> Result<(), StorageError> {
    let sql = in_lane!(lane, |condition| concat!(
        "UPDATE postgres_database SET due_at = $2 WHERE (project_id, id) IN \
         (SELECT project_id, id FROM postgres_database WHERE due_at > $1 AND ",
        condition!(),
        " ORDER BY due_at LIMIT CAST($3 AS BIGINT))"
    ));
    c.execute(sql, &[&latest, &now, &FORWARD]).await?;
    Ok(())
}

/// The statement of [`make_due`]. The time of a leased database is that at which it became due, so now is a
/// later one, and [`settle`] sees it.
pub const MAKE_DUE: &str =
    "UPDATE postgres_database SET due_at = $2 WHERE id = $1 AND (due_at > $2 OR lease IS NOT NULL)";

/// Makes a database due now, also one that a worker has leased: what the worker has observed may be older.
/// `now` is in milliseconds since 1970.
pub async fn make_due(
    c: &mut Connection<'_>,
    id: &PostgresId,
    now: i64,
) -> Result<(), StorageError> {
    c.execute(statement!(MAKE_DUE), &[&id, &now]).await?;
    Ok(())
}

/// A lease that is given to databases. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct Lease<'l> {
    /// A random string, by which the worker is known.
    pub name: &'l str,
    /// When it begins.
    pub now: i64,
    /// When it ends.
    pub until: i64,
}

/// Leases up to `limit` databases of a lane that are due and that no other worker has leased, but for those
/// of some projects. A row that cannot be read is an error in the list, and does not fail the others.
pub async fn take_due(
    c: &mut Connection<'_>,
    lane: Lane,
    lease: Lease<'_>,
    limit: usize,
    but: &[&ProjectId],
) -> Result<Vec<Result<Due, Corrupt>>, StorageError> {
    // The rows are returned by the statement that leases them: a search for the lease would read all
    // databases that are due. PostgreSQL skips rows that another replica is leasing, instead of
    // waiting for it. The subquery is materialized, or the planner could run it again for each row
    // and exceed the limit. Without it, SQLite may search for the keys by their project alone.
    let sql = in_lane!(lane, |condition| Sql {
        sqlite: concat!(
            "UPDATE postgres_database AS t SET lease = $1, lease_until = $2 FROM \
             (SELECT project_id, id FROM postgres_database WHERE due_at <= $3 AND ",
            condition!(),
            " AND (lease_until IS NULL OR lease_until < $3 OR lease_until > $5) \
             AND project_id NOT IN (SELECT value FROM json_each($6)) \
             ORDER BY due_at LIMIT CAST($4 AS BIGINT)) AS free \
             WHERE t.project_id = free.project_id AND t.id = free.id \
             RETURNING project_id, password_is_set, restarts, target_restarts, promotions, \
             target_promotions, attempts, due_at, ",
            database_columns!(bare)
        ),
        postgres: concat!(
            "WITH free AS MATERIALIZED (SELECT project_id, id FROM postgres_database WHERE due_at <= $3 AND ",
            condition!(),
            " AND (lease_until IS NULL OR lease_until < $3 OR lease_until > $5) \
             AND project_id NOT IN (SELECT jsonb_array_elements_text($6::jsonb)) \
             ORDER BY due_at LIMIT CAST($4 AS BIGINT) FOR UPDATE SKIP LOCKED) \
             UPDATE postgres_database AS t SET lease = $1, lease_until = $2 FROM free \
             WHERE t.project_id = free.project_id AND t.id = free.id \
             RETURNING t.project_id, t.password_is_set, t.restarts, t.target_restarts, t.promotions, \
             t.target_promotions, t.attempts, t.due_at, ",
            database_columns!()
        ),
    });
    let Lease { name, now, until } = lease;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let but: Vec<&str> = but.iter().map(|project| project.as_str()).collect();
    let but = JsonArray(&but);
    let parameters: [&dyn Parameter; 6] = [&name, &until, &now, &limit, &latest_lease(now), &but];
    c.fetch_changed(sql, &parameters).await
}

/// Releases the lease of a database that was just leased, and makes the database due at `due_at`, in
/// milliseconds since 1970.
pub async fn put_off(
    c: &mut Connection<'_>,
    due: &Due,
    lease: &str,
    due_at: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET lease = NULL, lease_until = NULL, due_at = $4 \
         WHERE project_id = $1 AND id = $2 AND lease = $3"
    );
    c.execute(sql, &[&due.project_id, &due.database.id, &lease, &due_at])
        .await?;
    Ok(())
}

/// The result of a reconciler's step, to be written to the database's row.
#[derive(Debug, Clone)]
pub struct StepRecord {
    /// The state of the database after the step.
    pub state: PostgresState,
    /// The storage of the database after the step, in GiB.
    pub storage_size_gib: StorageSizeGib,
    /// The version of PostgreSQL after the step.
    pub version: PostgresVersion,
    /// The size of the virtual machine after the step.
    pub vm_size: PostgresSize,
    /// Whether the provisioner has the password that the worker read.
    pub password_is_set: bool,
    /// The number of restarts that are made.
    pub restarts: i64,
    /// The number of promotions of a standby that are made.
    pub promotions: i64,
    /// The backups of the database, the oldest first, or `None` if the step has not looked at them.
    pub backups: Option<Vec<PostgresBackup>>,
    /// The host name of the database, once it is known.
    pub host: Option<String>,
    /// The certificates of the authority that issued the server's certificate, in PEM.
    pub ca_certificates: Option<CaCertificates>,
    /// The earliest time that the database can be restored to, in seconds since 1970.
    pub earliest_restore_time: Option<i64>,
    /// The latest time that the database can be restored to, in seconds since 1970.
    pub latest_restore_time: i64,
    /// The space that the data takes, in bytes.
    pub used_bytes: i64,
    /// The number of steps that have failed since the last success.
    pub attempts: i64,
    /// Why the step has failed, if it has. What is written stays until a step succeeds.
    pub failure: Option<String>,
    /// How long until the database is due again.
    pub wait: Duration,
}

/// Writes the result of a step and releases the lease. Returns whether the worker still held it; if
/// not, nothing is written.
///
/// If an operation has changed the database since the step began, or [`make_due`] has made it due, the
/// database stays due at once, because the step knew nothing of the change, and a database that is being
/// deleted keeps this state.
/// `now` is in milliseconds since 1970.
pub async fn settle(
    c: &mut Connection<'_>,
    due: &Due,
    lease: &str,
    record: &StepRecord,
    now: i64,
) -> Result<bool, StorageError> {
    let wait = i64::try_from(record.wait.as_millis()).unwrap_or(i64::MAX);
    let due_at = now.saturating_add(wait);
    // Compared in the statement itself: a change of the owner could commit between a read and the
    // update.
    let sql = statement!(
        "UPDATE postgres_database SET state = CASE WHEN state = 'deleting' THEN state ELSE $4 END, storage_size_gib = $5, version = $6, vm_size = $7, \
               password_is_set = ($8 AND revision = $9), host = $10, ca_certificates = $11, \
               earliest_restore_time = $12, latest_restore_time = $13, used_bytes = $14, attempts = $15, \
               due_at = CASE WHEN revision = $9 AND due_at = $21 THEN $16 ELSE due_at END, restarts = $17, promotions = $18, \
               backups = COALESCE($19, backups), \
               failure = CASE WHEN $15 = 0 THEN NULL ELSE COALESCE($20, failure) END, lease = NULL, lease_until = NULL \
               WHERE project_id = $1 AND id = $2 AND lease = $3"
    );
    let database = &due.database;
    let touched = c
        .execute(
            sql,
            &[
                &due.project_id,
                &database.id,
                &lease,
                &record.state,
                &record.storage_size_gib,
                &record.version,
                &record.vm_size,
                &record.password_is_set,
                &database.revision,
                &record.host,
                &record.ca_certificates,
                &record.earliest_restore_time,
                &record.latest_restore_time,
                &record.used_bytes,
                &record.attempts,
                &due_at,
                &record.restarts,
                &record.promotions,
                &record.backups,
                &record.failure,
                &due.due_at,
            ],
        )
        .await?;
    Ok(touched == 1)
}

/// Deletes the row of a database that is being deleted, once the provisioner has deleted the database.
/// Returns whether the worker still held the lease; if not, nothing is written.
pub async fn delete(c: &mut Connection<'_>, due: &Due, lease: &str) -> Result<bool, StorageError> {
    let sql = statement!(
        "DELETE FROM postgres_database WHERE project_id = $1 AND id = $2 AND lease = $3 AND state = 'deleting'"
    );
    let (project, database) = (&due.project_id, &due.database);
    let is_deleted = c.execute(sql, &[project, &database.id, &lease]).await? == 1;
    if is_deleted {
        let of = (project, database.location.as_str(), database.id.as_str());
        count::add(c, count::Kind::Postgres, of, -1).await?;
    }
    Ok(is_deleted)
}

/// Prolongs a lease until the time `until`, in milliseconds since 1970. Returns whether the worker
/// still held it.
pub async fn prolong(
    c: &mut Connection<'_>,
    due: &Due,
    lease: &str,
    until: i64,
) -> Result<bool, StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET lease_until = $4 WHERE project_id = $1 AND id = $2 AND lease = $3"
    );
    Ok(
        c.execute(sql, &[&due.project_id, &due.database.id, &lease, &until])
            .await?
            == 1,
    )
}

/// Returns whether the row of a database is there.
pub async fn exists(c: &mut Connection<'_>, due: &Due) -> Result<bool, StorageError> {
    let sql = "SELECT id FROM postgres_database WHERE project_id = $1 AND id = $2";
    c.exists(sql, &[&due.project_id, &due.database.id]).await
}

/// Returns whether the row of a database is there and the database is not being deleted.
pub async fn is_kept(c: &mut Connection<'_>, due: &Due) -> Result<bool, StorageError> {
    let sql = "SELECT id FROM postgres_database WHERE project_id = $1 AND id = $2 AND state <> 'deleting'";
    c.exists(sql, &[&due.project_id, &due.database.id]).await
}

/// Releases all leases. Only a service that is alone with its database may call this: the leases
/// are then those of a process that has died.
pub async fn free_all(c: &mut Connection<'_>) -> Result<(), StorageError> {
    let sql =
        "UPDATE postgres_database SET lease = NULL, lease_until = NULL WHERE lease IS NOT NULL";
    c.execute(sql, &[]).await?;
    Ok(())
}
