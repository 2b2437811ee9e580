//! Postgres databases: their state, their targets, and the leases of the reconciler.
//!
//! `due_at` is when the reconciler is to look at a database. A worker that does so holds a lease
//! (`lease`, a random text, until `lease_until`), and its result counts only while the row still
//! has this lease.

use std::fmt;

use api_types::{
    CaCertificates, Count, Location, MaintenanceHour, Name, PostgresFirewallRule, PostgresFlavor,
    PostgresHaType, PostgresId, PostgresParent, PostgresSize, PostgresState, PostgresVersion,
    ProjectId, StorageSizeGib, Tag,
};

use super::page::{PageSql, fetch, page_sql};
use super::record::{Record, Row, column, record};
use super::statement::Sql;
use super::{Connection, Corrupt, StorageError, count};
use crate::domain::list::{Order, Page};

record! {
    /// A Postgres database. Times are in seconds since 1970.
    #[derive(Clone, PartialEq)]
    pub struct Database in "postgres_database" {
        /// The id.
        pub id: PostgresId,
        /// The location.
        pub location: Location,
        /// The name, unique in its location.
        pub name: Name,
        /// The flavor.
        pub flavor: PostgresFlavor,
        /// The wanted availability: the number of standbys, and whether they replicate synchronously.
        pub ha_type: PostgresHaType,
        /// The state.
        pub state: PostgresState,
        /// The storage in GiB.
        pub storage_size_gib: StorageSizeGib,
        /// The wanted storage in GiB.
        pub target_storage_size_gib: StorageSizeGib,
        /// The version.
        pub version: PostgresVersion,
        /// The wanted version.
        pub target_version: PostgresVersion,
        /// The size.
        pub vm_size: PostgresSize,
        /// The wanted size.
        pub target_vm_size: PostgresSize,
        /// The hour of maintenance, in UTC.
        pub maintenance_window_start_at: MaintenanceHour,
        /// The path of the database that this one replicates.
        pub parent: Option<PostgresParent>,
        /// The owner's tags.
        pub tags: Vec<Tag>,
        /// The rules of the firewall.
        pub firewall_rules: Vec<PostgresFirewallRule>,
        /// The superuser's password, sealed.
        pub password: Vec<u8>,
        /// The host that the database is reached at, once it runs.
        pub host: Option<String>,
        /// The certificates of the authority that issued the server's certificate, once it runs.
        pub ca_certificates: Option<CaCertificates>,
        /// The earliest moment that the database can be restored to.
        pub earliest_restore_time: Option<i64>,
        /// The latest moment that the database can be restored to.
        pub latest_restore_time: i64,
        /// The space that the data takes, in bytes.
        pub used_bytes: i64,
        /// The number of the owner's changes so far. A change counts only if it has read the latest
        /// revision.
        pub revision: i64,
    }
    columns database_columns;
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

record! {
    /// What lists show of a database.
    #[derive(Debug, Clone)]
    pub struct DatabaseSummary in "postgres_database" {
        /// The id.
        pub id: PostgresId,
        /// The location.
        pub location: Location,
        /// The name, unique in its location.
        pub name: Name,
        /// The flavor.
        pub flavor: PostgresFlavor,
        /// The wanted availability: the number of standbys, and whether they replicate synchronously.
        pub ha_type: PostgresHaType,
        /// The state.
        pub state: PostgresState,
        /// The storage in GiB.
        pub storage_size_gib: StorageSizeGib,
        /// The wanted storage in GiB.
        pub target_storage_size_gib: StorageSizeGib,
        /// The version.
        pub version: PostgresVersion,
        /// The wanted version.
        pub target_version: PostgresVersion,
        /// The size.
        pub vm_size: PostgresSize,
        /// The wanted size.
        pub target_vm_size: PostgresSize,
        /// The hour of maintenance, in UTC.
        pub maintenance_window_start_at: MaintenanceHour,
        /// The path of the database that this one replicates.
        pub parent: Option<PostgresParent>,
        /// The owner's tags.
        pub tags: Vec<Tag>,
        /// The certificates of the authority that issued the server's certificate, once it runs.
        pub ca_certificates: Option<CaCertificates>,
    }
    columns summary_columns;
}

/// Returns a page of the databases of a project, and the size of the whole list.
pub async fn page(
    c: &mut Connection<'_>,
    project: &ProjectId,
    page: &Page,
) -> Result<(Count, Vec<DatabaseSummary>), StorageError> {
    macro_rules! sql {
        ($after:literal, $order:literal) => {
            page_sql!(
                summary_columns!(),
                "postgres_database",
                "postgres",
                location: "",
                after: $after,
                order: $order,
                index: ""
            )
        };
    }
    let sql = match page.order {
        Order::Id => sql!("t.id > $2", "id"),
        Order::Name => sql!("t.name > $2", "name, id"),
    };
    fetch(c, sql, &[&project, &page.after, &page.size]).await
}

/// Looks up a database of a location by its id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    id: &str,
) -> Result<Option<Database>, StorageError> {
    let sql = concat!(
        "SELECT ",
        database_columns!(),
        " FROM postgres_database AS t WHERE t.project_id = $1 AND t.location = $2 AND t.id = $3"
    );
    c.fetch_optional::<Database>(sql, &[&project, &location, &id])
        .await
}

/// Looks up a database of a location by its name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    name: &str,
) -> Result<Option<Database>, StorageError> {
    let sql = concat!(
        "SELECT ",
        database_columns!(),
        " FROM postgres_database AS t WHERE t.project_id = $1 AND t.location = $2 AND t.name = $3"
    );
    c.fetch_optional::<Database>(sql, &[&project, &location, &name])
        .await
}

/// Inserts a database that is due at once. `now` is in milliseconds since 1970.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &ProjectId,
    new: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO postgres_database (project_id, id, location, name, flavor, ha_type, state, \
               storage_size_gib, target_storage_size_gib, version, target_version, vm_size, target_vm_size, \
               maintenance_window_start_at, parent, tags, firewall_rules, password, password_is_set, \
               latest_restore_time, used_bytes, due_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, FALSE, $19, \
               $20, $21)";
    c.execute(
        sql,
        &[
            &project,
            &new.id,
            &new.location,
            &new.name,
            &new.flavor,
            &new.ha_type,
            &new.state,
            &new.storage_size_gib,
            &new.target_storage_size_gib,
            &new.version,
            &new.target_version,
            &new.vm_size,
            &new.target_vm_size,
            &new.maintenance_window_start_at,
            &new.parent,
            &new.tags,
            &new.firewall_rules,
            &new.password,
            &new.latest_restore_time,
            &new.used_bytes,
            &now,
        ],
    )
    .await?;
    count::add(
        c,
        count::Kind::Postgres,
        (project, &new.location, new.id.as_str()),
        1,
    )
    .await
}

/// Writes the properties that the owner can change, and makes the database due at once. `now` is in
/// milliseconds since 1970.
///
/// # Errors
///
/// A conflict if the row is no longer at the revision of `changed`.
pub async fn retarget(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = "UPDATE postgres_database SET ha_type = $4, target_storage_size_gib = $5, target_vm_size = $6, \
               tags = $7, due_at = $8, revision = revision + 1 WHERE project_id = $1 AND id = $2 AND revision = $3";
    let touched = c
        .execute(
            sql,
            &[
                &project,
                &changed.id,
                &changed.revision,
                &changed.ha_type,
                &changed.target_storage_size_gib,
                &changed.target_vm_size,
                &changed.tags,
                &now,
            ],
        )
        .await?;
    if touched == 1 {
        Ok(())
    } else {
        Err(StorageError::Conflict)
    }
}

/// Writes another password, and makes the database due at once. `now` is in milliseconds since
/// 1970.
///
/// # Errors
///
/// A conflict if the row is no longer at the revision of `changed`.
pub async fn set_password(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = "UPDATE postgres_database SET password = $4, password_is_set = FALSE, due_at = $5, \
               revision = revision + 1 WHERE project_id = $1 AND id = $2 AND revision = $3";
    let touched = c
        .execute(
            sql,
            &[
                &project,
                &changed.id,
                &changed.revision,
                &changed.password,
                &now,
            ],
        )
        .await?;
    if touched == 1 {
        Ok(())
    } else {
        Err(StorageError::Conflict)
    }
}

record! {
    /// A sealed password and the database that it belongs to.
    pub struct Sealed in "postgres_database" {
        /// The project's id.
        pub project_id: ProjectId,
        /// The database's id.
        pub id: PostgresId,
        /// The password, sealed.
        pub password: Vec<u8>,
    }
}

/// Returns the next passwords after one, in all projects.
pub async fn sealed_after(
    c: &mut Connection<'_>,
    after: (&str, &str),
    limit: i64,
) -> Result<Vec<Sealed>, StorageError> {
    let sql = "SELECT project_id, id, password FROM postgres_database \
               WHERE (project_id, id) > ($1, $2) ORDER BY project_id, id LIMIT $3";
    c.fetch_all::<Sealed>(sql, &[&after.0, &after.1, &limit])
        .await
}

/// Replaces the sealed form of a password, unless the password was changed meanwhile.
pub async fn reseal(
    c: &mut Connection<'_>,
    old: &Sealed,
    password: &[u8],
) -> Result<(), StorageError> {
    let sql = "UPDATE postgres_database SET password = $4 WHERE project_id = $1 AND id = $2 AND password = $3";
    c.execute(sql, &[&old.project_id, &old.id, &old.password, &password])
        .await?;
    Ok(())
}

/// A database that a worker has leased.
#[derive(Debug, Clone)]
pub struct Due {
    /// The project's id.
    pub project_id: ProjectId,
    /// The database.
    pub database: Database,
    /// Whether the provisioner has the current password.
    pub password_is_set: bool,
    /// The number of failures in a row.
    pub attempts: i64,
}

impl Record for Due {
    fn read(row: &dyn Row) -> Result<Self, Corrupt> {
        Ok(Self {
            project_id: column(row, "postgres_database", "project_id")?,
            database: Database::read(row)?,
            password_is_set: column(row, "postgres_database", "password_is_set")?,
            attempts: column(row, "postgres_database", "attempts")?,
        })
    }
}

/// Returns whether a database is due that no worker has leased. `now` is in milliseconds since
/// 1970.
pub async fn is_anything_due(c: &mut Connection<'_>, now: i64) -> Result<bool, StorageError> {
    let sql = "SELECT id FROM postgres_database WHERE due_at <= $1 AND (lease_until IS NULL OR lease_until < $1) \
               LIMIT 1";
    c.exists(sql, &[&now]).await
}

/// Leases up to `limit` databases that are due and that no other worker has leased. A database that
/// cannot be read does not fail the others. Times are in milliseconds since 1970.
pub async fn take_due(
    c: &mut Connection<'_>,
    lease: &str,
    now: i64,
    until: i64,
    limit: i64,
) -> Result<Vec<Result<Due, Corrupt>>, StorageError> {
    // PostgreSQL skips rows that another replica is leasing, instead of waiting for it. The
    // subquery is materialized, or the planner could run it again for each row and exceed the
    // limit.
    c.execute(
        Sql {
            sqlite: "UPDATE postgres_database SET lease = $1, lease_until = $2 WHERE (project_id, id) IN \
                 (SELECT project_id, id FROM postgres_database WHERE due_at <= $3 \
                 AND (lease_until IS NULL OR lease_until < $3) ORDER BY due_at LIMIT $4)",
            postgres: "WITH free AS MATERIALIZED (SELECT project_id, id FROM postgres_database WHERE due_at <= $3 \
                   AND (lease_until IS NULL OR lease_until < $3) ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED) \
                   UPDATE postgres_database AS t SET lease = $1, lease_until = $2 FROM free \
                   WHERE t.project_id = free.project_id AND t.id = free.id",
        },
        &[&lease, &until, &now, &limit],
    )
    .await?;
    let sql = concat!(
        "SELECT t.project_id, t.password_is_set, t.attempts, ",
        database_columns!(),
        " FROM postgres_database AS t WHERE t.due_at <= $1 AND t.lease = $2 ORDER BY t.due_at, t.id"
    );
    c.fetch_all(sql, &[&now, &lease]).await
}

/// The result of a reconciler's step, to be written to the database's row.
#[derive(Debug, Clone)]
pub struct StepRecord {
    /// The state.
    pub state: PostgresState,
    /// The storage in GiB.
    pub storage_size_gib: StorageSizeGib,
    /// The version.
    pub version: PostgresVersion,
    /// The size.
    pub vm_size: PostgresSize,
    /// Whether the provisioner has the password that the worker read.
    pub password_is_set: bool,
    /// The host.
    pub host: Option<String>,
    /// The certificates of the authority that issued the server's certificate.
    pub ca_certificates: Option<CaCertificates>,
    /// The earliest moment that the database can be restored to.
    pub earliest_restore_time: Option<i64>,
    /// The latest moment that the database can be restored to.
    pub latest_restore_time: i64,
    /// The space that the data takes, in bytes.
    pub used_bytes: i64,
    /// The number of failures in a row.
    pub attempts: i64,
    /// When the database is due again, in milliseconds since 1970.
    pub due_at: Option<i64>,
}

/// Writes the result of a step and releases the lease. Returns whether the worker still held it; if
/// not, nothing is written.
///
/// If the owner changed the database meanwhile, it stays due at once: the step knew nothing of the
/// change.
pub async fn settle(
    c: &mut Connection<'_>,
    due: &Due,
    lease: &str,
    record: &StepRecord,
) -> Result<bool, StorageError> {
    let sql = "UPDATE postgres_database SET state = $4, storage_size_gib = $5, version = $6, vm_size = $7, \
               password_is_set = ($8 AND revision = $9), host = $10, ca_certificates = $11, \
               earliest_restore_time = $12, latest_restore_time = $13, used_bytes = $14, attempts = $15, \
               due_at = CASE WHEN revision = $9 THEN $16 ELSE due_at END, lease = NULL, lease_until = NULL \
               WHERE project_id = $1 AND id = $2 AND lease = $3";
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
                &record.due_at,
            ],
        )
        .await?;
    Ok(touched == 1)
}

/// Prolongs a lease, and returns whether the worker still held it.
pub async fn prolong(
    c: &mut Connection<'_>,
    due: &Due,
    lease: &str,
    until: i64,
) -> Result<bool, StorageError> {
    let sql = "UPDATE postgres_database SET lease_until = $4 WHERE project_id = $1 AND id = $2 AND lease = $3";
    Ok(
        c.execute(sql, &[&due.project_id, &due.database.id, &lease, &until])
            .await?
            == 1,
    )
}

/// Releases all leases. Only for a service that is alone with its database: the leases are those of
/// a process that died.
pub async fn free_all(c: &mut Connection<'_>) -> Result<(), StorageError> {
    let sql =
        "UPDATE postgres_database SET lease = NULL, lease_until = NULL WHERE lease IS NOT NULL";
    c.execute(sql, &[]).await?;
    Ok(())
}
