//! Postgres databases: what they are, what they shall be, and who looks at the difference.

use std::fmt;

use diesel::QueryableByName;

use super::page::{PageSql, fetch, page_sql};
use super::schema::postgres_database;
use super::statement::Sql;
use super::{Connection, StorageError, count};
use crate::domain::list::{Order, Page};

/// A Postgres database. Times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = postgres_database)]
pub struct Database {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub location: String,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub flavor: String,
    /// How it stays available.
    pub ha_type: String,
    /// What it is doing.
    pub state: String,
    /// Its storage in GiB.
    pub storage_size_gib: i64,
    /// The storage that it shall have.
    pub target_storage_size_gib: i64,
    /// Its version.
    pub version: String,
    /// The version that it shall have.
    pub target_version: String,
    /// Its size.
    pub vm_size: String,
    /// The size that it shall have.
    pub target_vm_size: String,
    /// The hour of its maintenance, in UTC.
    pub maintenance_window_start_at: i64,
    /// The path of the database that it follows.
    pub parent: Option<String>,
    /// Its tags, as JSON.
    pub tags: String,
    /// The rules of its firewall, as JSON.
    pub firewall_rules: String,
    /// The superuser's password, sealed.
    pub password: Vec<u8>,
    /// Where it is reached, once it runs.
    pub host: Option<String>,
    /// The certificates of its authority, once it runs.
    pub ca_certificates: Option<String>,
    /// The earliest moment that it can be restored to.
    pub earliest_restore_time: Option<i64>,
    /// The latest moment that it can be restored to.
    pub latest_restore_time: i64,
    /// The space that its data takes.
    pub used_bytes: i64,
    /// How often its owner changed it: a change counts only on the revision that it has seen.
    pub revision: i64,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

macro_rules! columns {
    () => {
        "id, location, name, flavor, ha_type, state, storage_size_gib, target_storage_size_gib, version, \
         target_version, vm_size, target_vm_size, maintenance_window_start_at, parent, tags, firewall_rules, password, \
         host, ca_certificates, earliest_restore_time, latest_restore_time, used_bytes, revision"
    };
}

/// What lists show of a database.
#[derive(Debug, Clone, QueryableByName)]
#[diesel(table_name = postgres_database)]
pub struct DatabaseSummary {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub location: String,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub flavor: String,
    /// How it stays available.
    pub ha_type: String,
    /// What it is doing.
    pub state: String,
    /// Its storage in GiB.
    pub storage_size_gib: i64,
    /// The storage that it shall have.
    pub target_storage_size_gib: i64,
    /// Its version.
    pub version: String,
    /// The version that it shall have.
    pub target_version: String,
    /// Its size.
    pub vm_size: String,
    /// The size that it shall have.
    pub target_vm_size: String,
    /// The hour of its maintenance, in UTC.
    pub maintenance_window_start_at: i64,
    /// The path of the database that it follows.
    pub parent: Option<String>,
    /// Its tags, as JSON.
    pub tags: String,
    /// The certificates of its authority, once it runs.
    pub ca_certificates: Option<String>,
}

/// A page of the databases of a project, and how many there are.
pub async fn page(
    c: &mut Connection<'_>,
    project: &str,
    page: &Page,
) -> Result<(i64, Vec<DatabaseSummary>), StorageError> {
    macro_rules! sql {
        ($after:literal, $order:literal) => {
            page_sql!(
                "id, location, name, flavor, ha_type, state, storage_size_gib, target_storage_size_gib, version, \
                 target_version, vm_size, target_vm_size, maintenance_window_start_at, parent, tags, ca_certificates",
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

/// One of a location, by id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    place: (&str, &str),
    id: &str,
) -> Result<Option<Database>, StorageError> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM postgres_database WHERE project_id = $1 AND location = $2 AND id = $3"
    );
    c.fetch_optional::<Database>(sql, &[&place.0, &place.1, &id])
        .await
}

/// One of a location, by name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    place: (&str, &str),
    name: &str,
) -> Result<Option<Database>, StorageError> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM postgres_database WHERE project_id = $1 AND location = $2 AND name = $3"
    );
    c.fetch_optional::<Database>(sql, &[&place.0, &place.1, &name])
        .await
}

/// Makes a database that is due at once. `now` is in milliseconds since 1970.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &str,
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
        (project, &new.location, &new.id),
        1,
    )
    .await
}

/// Changes what the owner may change, and makes the database due at once. `now` is in milliseconds since 1970.
///
/// # Errors
///
/// A conflict if it is not at the revision any more that `changed` was read at.
pub async fn retarget(
    c: &mut Connection<'_>,
    project: &str,
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

/// Sets another password, and makes the database due at once. `now` is in milliseconds since 1970.
///
/// # Errors
///
/// A conflict if it is not at the revision any more that `changed` was read at.
pub async fn set_password(
    c: &mut Connection<'_>,
    project: &str,
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

/// A sealed password and where it is.
#[derive(QueryableByName)]
#[diesel(table_name = postgres_database)]
pub struct Sealed {
    /// The project's id.
    pub project_id: String,
    /// The database's id.
    pub id: String,
    /// The password, sealed.
    pub password: Vec<u8>,
}

/// The next passwords after one, whatever their project: to seal them again.
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

/// Replaces a sealed password by the same one sealed otherwise, unless it was changed meanwhile.
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

/// What a worker took up.
#[derive(Debug, Clone, QueryableByName)]
#[diesel(table_name = postgres_database)]
pub struct Due {
    /// The project's id.
    pub project_id: String,
    /// The database.
    #[diesel(embed)]
    pub database: Database,
    /// Whether the provisioner has the current password.
    pub password_is_set: bool,
    /// Failures in a row.
    pub attempts: i64,
}

/// Whether a database is due that no worker looks at. `now` is in milliseconds since 1970.
pub async fn is_anything_due(c: &mut Connection<'_>, now: i64) -> Result<bool, StorageError> {
    let sql = "SELECT id FROM postgres_database WHERE due_at <= $1 AND (lease_until IS NULL OR lease_until < $1) \
               LIMIT 1";
    c.exists(sql, &[&now]).await
}

/// Takes up to `limit` databases that are due and that no other worker looks at. Times are in milliseconds since 1970.
pub async fn take_due(
    c: &mut Connection<'_>,
    lease: &str,
    now: i64,
    until: i64,
    limit: i64,
) -> Result<Vec<Due>, StorageError> {
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
        "SELECT project_id, password_is_set, attempts, ",
        columns!(),
        " FROM postgres_database WHERE due_at <= $1 AND lease = $2 ORDER BY due_at, id"
    );
    c.fetch_all::<Due>(sql, &[&now, &lease]).await
}

/// What a worker found and did.
#[derive(Debug, Clone)]
pub struct StepRecord {
    /// What the database is doing.
    pub state: String,
    /// Its storage in GiB.
    pub storage_size_gib: i64,
    /// Its version.
    pub version: String,
    /// Its size.
    pub vm_size: String,
    /// Whether the provisioner has the password that the worker saw.
    pub password_is_set: bool,
    /// Where it is reached.
    pub host: Option<String>,
    /// The certificates of its authority.
    pub ca_certificates: Option<String>,
    /// The earliest moment that it can be restored to.
    pub earliest_restore_time: Option<i64>,
    /// The latest moment that it can be restored to.
    pub latest_restore_time: i64,
    /// The space that its data takes.
    pub used_bytes: i64,
    /// Failures in a row.
    pub attempts: i64,
    /// When to look again, in milliseconds since 1970.
    pub due_at: Option<i64>,
}

/// Records what came out, and lets go of the database. Tells whether the lease still held.
///
/// Whoever changed the database meanwhile has made it due at once, and so it stays.
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

/// Prolongs a lease. Tells whether it still held.
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

/// Frees whatever a service that died has left taken. Only where no other service works on the same database.
pub async fn free_all(c: &mut Connection<'_>) -> Result<(), StorageError> {
    let sql =
        "UPDATE postgres_database SET lease = NULL, lease_until = NULL WHERE lease IS NOT NULL";
    c.execute(sql, &[]).await?;
    Ok(())
}
