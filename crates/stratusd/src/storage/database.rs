//! Postgres databases: the statements that read and write their rows for the owner. `lease.rs` has
//! those of the reconciler.

use std::fmt;

use api_types::{
    CaCertificates, Count, Location, MaintenanceHour, Name, PostgresBackup, PostgresFirewallRule,
    PostgresFlavor, PostgresHaType, PostgresId, PostgresParent, PostgresSize, PostgresState,
    PostgresVersion, ProjectId, StorageSizeGib, Tag,
};

use super::page::{PageSql, fetch, page_sql};
use super::record::record;
use super::statement::{Parameter, statement};
use super::{Connection, StorageError, count};
use crate::domain::list::{Order, Page};

record! {
    /// A row of the table of Postgres databases. Times are in seconds since 1970. A target is what
    /// the owner wants, and what the reconciler changes the database to.
    #[derive(Clone, PartialEq)]
    pub struct Database in "postgres_database" {
        /// The id of the database.
        pub id: PostgresId,
        /// The location of the database.
        pub location: Location,
        /// The name of the database, unique among those in the project and location that are not
        /// being deleted.
        pub name: Name,
        /// The flavor of the database.
        pub flavor: PostgresFlavor,
        /// The wanted availability: the number of standbys, and whether they replicate
        /// synchronously.
        pub ha_type: PostgresHaType,
        /// The state of the database.
        pub state: PostgresState,
        /// The storage of the database in GiB.
        pub storage_size_gib: StorageSizeGib,
        /// The storage in GiB that the owner wants.
        pub target_storage_size_gib: StorageSizeGib,
        /// The PostgreSQL version of the database.
        pub version: PostgresVersion,
        /// The PostgreSQL version that the database should have.
        pub target_version: PostgresVersion,
        /// The size of the virtual machine of the database.
        pub vm_size: PostgresSize,
        /// The size of the virtual machine that the owner wants.
        pub target_vm_size: PostgresSize,
        /// The hour of the day, in UTC, at which the maintenance window starts.
        pub maintenance_window_start_at: MaintenanceHour,
        /// The path of the database that this one was created from, as in the API, or `None` if
        /// there is none.
        pub parent: Option<PostgresParent>,
        /// The id of the database that this one is or was restored from, or `None` if it was created
        /// empty. That database may not exist any more.
        pub restored_from: Option<PostgresId>,
        /// The time that the database is restored to, in microseconds since 1970.
        pub restore_target: Option<i64>,
        /// The tags that the owner has given the database.
        pub tags: Vec<Tag>,
        /// The firewall rules of the database.
        pub firewall_rules: Vec<PostgresFirewallRule>,
        /// The superuser's password, sealed (encrypted).
        pub password: Vec<u8>,
        /// The name of the host that the database is reached at, or `None` before the database
        /// runs.
        pub host: Option<String>,
        /// The certificates of the authority that issued the server's certificate, in PEM, or
        /// `None` before the database runs.
        pub ca_certificates: Option<CaCertificates>,
        /// The earliest moment that the database can be restored to, or `None` before the first
        /// backup.
        pub earliest_restore_time: Option<i64>,
        /// The latest moment that the database can be restored to.
        pub latest_restore_time: i64,
        /// The size of the data in bytes.
        pub used_bytes: i64,
        /// The number of changes that the owner has made so far. A change that has read an earlier
        /// revision is a conflict.
        pub revision: i64,
    }
    columns database_columns;
}

pub(super) use database_columns;

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

record! {
    /// The part of the row of a database that lists show.
    #[derive(Debug, Clone)]
    pub struct DatabaseSummary in "postgres_database" {
        /// The id of the database.
        pub id: PostgresId,
        /// The location of the database.
        pub location: Location,
        /// The name of the database, unique in the project and location.
        pub name: Name,
        /// The flavor of the database.
        pub flavor: PostgresFlavor,
        /// The wanted availability: the number of standbys, and whether they replicate
        /// synchronously.
        pub ha_type: PostgresHaType,
        /// The state of the database.
        pub state: PostgresState,
        /// The storage of the database in GiB.
        pub storage_size_gib: StorageSizeGib,
        /// The storage in GiB that the owner wants.
        pub target_storage_size_gib: StorageSizeGib,
        /// The PostgreSQL version of the database.
        pub version: PostgresVersion,
        /// The PostgreSQL version that the database should have.
        pub target_version: PostgresVersion,
        /// The size of the virtual machine of the database.
        pub vm_size: PostgresSize,
        /// The size of the virtual machine that the owner wants.
        pub target_vm_size: PostgresSize,
        /// The hour of the day, in UTC, at which the maintenance window starts.
        pub maintenance_window_start_at: MaintenanceHour,
        /// The path of the database that this one was created from, as in the API, or `None` if
        /// there is none.
        pub parent: Option<PostgresParent>,
        /// The id of the database that this one is or was restored from, or `None` if it was created
        /// empty.
        pub restored_from: Option<PostgresId>,
        /// The tags that the owner has given the database.
        pub tags: Vec<Tag>,
        /// The certificates of the authority that issued the server's certificate, in PEM, or
        /// `None` before the database runs.
        pub ca_certificates: Option<CaCertificates>,
    }
    columns summary_columns;
}

/// Returns the number of databases of a project or of one location, and a page of them in the order
/// of `page`. The page may have fewer items than `page.size` if these are large.
pub async fn page(
    c: &mut Connection<'_>,
    project: &ProjectId,
    location: Option<&Location>,
    page: &Page,
) -> Result<(Count, Vec<DatabaseSummary>), StorageError> {
    macro_rules! of_location {
        ($column:literal, $(ties: $ties:literal,)? $index:literal) => {
            page_sql!(
                summary_columns!(),
                of_location: "postgres_database",
                "postgres",
                by: $column,
                $(ties: $ties,)?
                index: $index,
                bytes: "octet_length(t.tags) + COALESCE(octet_length(t.ca_certificates), 0)"
            )
        };
    }
    macro_rules! of_project {
        ($after:literal, $order:literal) => {
            page_sql!(
                summary_columns!(),
                of_project: "postgres_database",
                "postgres",
                after: $after,
                order: $order,
                bytes: "octet_length(t.tags) + COALESCE(octet_length(t.ca_certificates), 0)"
            )
        };
    }
    if let Some(location) = location {
        let parameters: [&dyn Parameter; 4] = [&project, &page.after, &page.size, &location];
        match page.order {
            Order::Id => {
                let sql = of_location!("id", " INDEXED BY postgres_database_by_location");
                fetch(c, sql, &parameters).await
            }
            // A database that is being deleted may have the name of another one.
            Order::Name => fetch(c, of_location!("name", ties: "id", ""), &parameters).await,
        }
    } else {
        let parameters: [&dyn Parameter; 3] = [&project, &page.after, &page.size];
        match page.order {
            Order::Id => fetch(c, of_project!("id", "id"), &parameters).await,
            Order::Name => fetch(c, of_project!("name", "name, id"), &parameters).await,
        }
    }
}

/// Returns whether there is any database in the store.
pub async fn is_any(c: &mut Connection<'_>) -> Result<bool, StorageError> {
    let sql = statement!("SELECT id FROM postgres_database LIMIT 1");
    c.exists(sql, &[]).await
}

/// Looks up a database of a project and location by its id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    id: &str,
) -> Result<Option<Database>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        database_columns!(),
        " FROM postgres_database AS t WHERE t.project_id = $1 AND t.location = $2 AND t.id = $3"
    ));
    c.fetch_optional::<Database>(sql, &[&project, &location, &id])
        .await
}

/// Looks up a database of a project, in any location, by its id.
pub async fn lookup_anywhere(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PostgresId,
) -> Result<Option<Database>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        database_columns!(),
        " FROM postgres_database AS t WHERE t.project_id = $1 AND t.id = $2"
    ));
    c.fetch_optional(sql, &[&project, &id]).await
}

/// Looks up a database of a project and location by its name. One that is being deleted has no
/// name any more.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    name: &str,
) -> Result<Option<Database>, StorageError> {
    macro_rules! sql {
        ($index:literal) => {
            concat!(
                "SELECT ",
                database_columns!(),
                " FROM postgres_database AS t",
                $index,
                " WHERE t.project_id = $1 AND t.location = $2 AND t.name = $3 AND t.state <> 'deleting'"
            )
        };
    }
    // By the other index of names, SQLite would read those that are being deleted too.
    let sql = statement! {
        sqlite: sql!(" INDEXED BY postgres_database_of_name"),
        postgres: sql!(""),
    };
    c.fetch_optional::<Database>(sql, &[&project, &location, &name])
        .await
}

record! {
    /// The backups of a database.
    struct Backups in "postgres_database" {
        /// The backups, the oldest first.
        backups: Vec<PostgresBackup>,
    }
}

/// Returns the backups of a database, the oldest first.
pub async fn backups(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PostgresId,
) -> Result<Vec<PostgresBackup>, StorageError> {
    let sql = statement!("SELECT backups FROM postgres_database WHERE project_id = $1 AND id = $2");
    let found = c.fetch_optional::<Backups>(sql, &[&project, &id]).await?;
    Ok(found.map(|row| row.backups).unwrap_or_default())
}

record! {
    /// The name of a database.
    struct Named in "postgres_database" {
        /// The name.
        name: Name,
    }
}

/// Returns the names of databases that are being restored from another one, at most `limit`.
pub async fn restoring_from(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PostgresId,
    limit: i64,
) -> Result<Vec<Name>, StorageError> {
    macro_rules! sql {
        ($index:literal) => {
            concat!(
                "SELECT name FROM postgres_database",
                $index,
                " WHERE project_id = $1 AND restored_from = $2 AND state = 'creating' \
                 ORDER BY name LIMIT $3"
            )
        };
    }
    let sql = statement! {
        sqlite: sql!(" INDEXED BY postgres_database_by_source"),
        postgres: sql!(""),
    };
    let found = c.fetch_all::<Named>(sql, &[&project, &id, &limit]).await?;
    Ok(found.into_iter().map(|row| row.name).collect())
}

/// Inserts a database, which is due for the reconciler at once. `now` is in milliseconds since
/// 1970.
///
/// A new database has no host, no certificates, no earliest restore time and the revision 0,
/// so what `new` holds there is ignored.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &ProjectId,
    new: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO postgres_database (project_id, id, location, name, flavor, ha_type, state, \
               storage_size_gib, target_storage_size_gib, version, target_version, vm_size, target_vm_size, \
               maintenance_window_start_at, parent, tags, firewall_rules, password, password_is_set, \
               latest_restore_time, used_bytes, due_at, restored_from, restore_target) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, FALSE, $19, \
               $20, $21, $22, $23)"
    );
    c.insert(
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
            &new.restored_from,
            &new.restore_target,
        ],
    )
    .await?;
    count::add(
        c,
        count::Kind::Postgres,
        (project, new.location.as_str(), new.id.as_str()),
        1,
    )
    .await
}

/// Writes what the owner can change of a database: the high availability, the target storage and
/// size, and the tags. Makes the database due for the reconciler at once, and increments the
/// revision. `now` is in milliseconds since 1970.
///
/// # Errors
///
/// [`StorageError::Conflict`] if the row is no longer at the revision of `changed`.
pub async fn retarget(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET ha_type = $4, target_storage_size_gib = $5, target_vm_size = $6, \
               tags = $7, due_at = $8, revision = revision + 1 WHERE project_id = $1 AND id = $2 AND revision = $3"
    );
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
    ensure_touched(touched)
}

/// Writes the version that `changed` is to have. Makes the database due for the reconciler at once, and
/// increments the revision. `now` is in milliseconds since 1970.
///
/// # Errors
///
/// [`StorageError::Conflict`] if the row is no longer at the revision of `changed`.
pub async fn set_target_version(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET target_version = $4, due_at = $5, revision = revision + 1 \
               WHERE project_id = $1 AND id = $2 AND revision = $3"
    );
    let touched = c
        .execute(
            sql,
            &[
                &project,
                &changed.id,
                &changed.revision,
                &changed.target_version,
                &now,
            ],
        )
        .await?;
    ensure_touched(touched)
}

/// Writes the sealed password of `changed`, which the reconciler then has to set on the database.
/// Makes the database due for the reconciler at once, and increments the revision. `now` is in
/// milliseconds since 1970.
///
/// # Errors
///
/// [`StorageError::Conflict`] if the row is no longer at the revision of `changed`.
pub async fn set_password(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET password = $4, password_is_set = FALSE, due_at = $5, \
               revision = revision + 1 WHERE project_id = $1 AND id = $2 AND revision = $3"
    );
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
    ensure_touched(touched)
}

/// Writes the start of the maintenance window of `changed`, which a change of the size may wait for.
/// Makes the database due for the reconciler at once, and increments the revision. `now` is in
/// milliseconds since 1970.
///
/// # Errors
///
/// [`StorageError::Conflict`] if the row is no longer at the revision of `changed`.
pub async fn set_maintenance_window(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET maintenance_window_start_at = $4, due_at = $5, revision = revision + 1 \
               WHERE project_id = $1 AND id = $2 AND revision = $3"
    );
    let touched = c
        .execute(
            sql,
            &[
                &project,
                &changed.id,
                &changed.revision,
                &changed.maintenance_window_start_at,
                &now,
            ],
        )
        .await?;
    ensure_touched(touched)
}

/// Writes the firewall rules of `changed`, which the reconciler then has to put in force. Makes the
/// database due for the reconciler at once, and increments the revision. `now` is in milliseconds
/// since 1970.
///
/// # Errors
///
/// [`StorageError::Conflict`] if the row is no longer at the revision of `changed`.
pub async fn set_firewall_rules(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Database,
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET firewall_rules = $4, due_at = $5, revision = revision + 1 \
               WHERE project_id = $1 AND id = $2 AND revision = $3"
    );
    let touched = c
        .execute(
            sql,
            &[
                &project,
                &changed.id,
                &changed.revision,
                &changed.firewall_rules,
                &now,
            ],
        )
        .await?;
    ensure_touched(touched)
}

/// Defines a function that increments a counter of what the owner has asked for. The reconciler
/// acts until it has reached the counter.
macro_rules! count {
    ($(#[$meta:meta])* $name:ident: $target:literal) => {
        $(#[$meta])*
        ///
        /// Makes the database due for the reconciler at once, and increments the revision. `now` is
        /// in milliseconds since 1970.
        ///
        /// # Errors
        ///
        /// [`StorageError::Conflict`] if the row is no longer at the revision of `of`.
        pub async fn $name(
            c: &mut Connection<'_>,
            project: &ProjectId,
            of: &Database,
            now: i64,
        ) -> Result<(), StorageError> {
            let sql = statement!(concat!(
                "UPDATE postgres_database SET ", $target, " = ", $target, " + 1, due_at = $4, \
                 revision = revision + 1 WHERE project_id = $1 AND id = $2 AND revision = $3"
            ));
            let parameters: [&dyn Parameter; 4] = [&project, &of.id, &of.revision, &now];
            ensure_touched(c.execute(sql, &parameters).await?)
        }
    };
}

count! {
    /// Counts a restart of a database.
    restart: "target_restarts"
}

count! {
    /// Counts a promotion of a standby of a database.
    promote: "target_promotions"
}

/// Sets the state of a database to `deleting`, which no step of the reconciler changes any more. Makes
/// the database due for the reconciler at once, which deletes it, and increments the revision. `now`
/// is in milliseconds since 1970.
///
/// The database stays in the count of its kind until it is gone: the provisioner still has it, and
/// creates and deletes in turn would fill the provisioner beyond any quota.
pub async fn begin_delete(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PostgresId,
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET state = 'deleting', due_at = $3, revision = revision + 1 \
               WHERE project_id = $1 AND id = $2"
    );
    c.execute(sql, &[&project, &id, &now]).await?;
    Ok(())
}

/// Checks that an update of a database has found its row at the revision that was read before.
fn ensure_touched(rows: usize) -> Result<(), StorageError> {
    if rows == 1 {
        Ok(())
    } else {
        Err(StorageError::Conflict)
    }
}

record! {
    /// The sealed (encrypted) password of a database.
    pub struct Sealed in "postgres_database" {
        /// The id of the project.
        pub project_id: ProjectId,
        /// The id of the database.
        pub id: PostgresId,
        /// The sealed password.
        pub password: Vec<u8>,
    }
}

/// Returns at most `limit` sealed passwords of all projects, in the order of project id and
/// database id: those after the pair of ids `after`.
pub async fn sealed_after(
    c: &mut Connection<'_>,
    after: (&str, &str),
    limit: i64,
) -> Result<Vec<Sealed>, StorageError> {
    let sql = statement!(
        "SELECT project_id, id, password FROM postgres_database \
               WHERE (project_id, id) > ($1, $2) ORDER BY project_id, id LIMIT $3"
    );
    c.fetch_all::<Sealed>(sql, &[&after.0, &after.1, &limit])
        .await
}

/// Replaces the sealed form of a password. Does nothing if the stored one is no longer that of
/// `old`, because the password was changed since it was read.
pub async fn reseal(
    c: &mut Connection<'_>,
    old: &Sealed,
    password: &[u8],
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET password = $4 WHERE project_id = $1 AND id = $2 AND password = $3"
    );
    c.execute(sql, &[&old.project_id, &old.id, &old.password, &password])
        .await?;
    Ok(())
}
