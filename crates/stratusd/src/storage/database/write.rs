//! The statements that write databases for their owner.

use api_types::{PostgresId, ProjectId};

use super::super::statement::{Parameter, statement};
use super::super::{Connection, StorageError, count, ensure_touched};
use super::Database;

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

/// A part of a database that its owner sets as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The firewall rules, which the reconciler has to put in force.
    FirewallRules,
    /// The start of the maintenance window, which a change of the size may wait for.
    MaintenanceWindow,
    /// The sealed password, which the reconciler has to set on the database.
    Password,
    /// The version that the database is to have.
    TargetVersion,
}

/// Writes a part of a database as it is in `changed`. Makes the database due for the reconciler at once,
/// and increments the revision. `now` is in milliseconds since 1970.
///
/// # Errors
///
/// [`StorageError::Conflict`] if the row is no longer at the revision of `changed`.
pub async fn set(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Database,
    part: Part,
    now: i64,
) -> Result<(), StorageError> {
    // Each statement is a type of its own, so it is run where it is written.
    macro_rules! write {
        ($column:literal, $value:expr) => {{
            let sql = statement!(concat!(
                "UPDATE postgres_database SET ",
                $column,
                " = $4, due_at = $5, revision = revision + 1 \
                 WHERE project_id = $1 AND id = $2 AND revision = $3"
            ));
            let parameters: [&dyn Parameter; 5] =
                [&project, &changed.id, &changed.revision, $value, &now];
            c.execute(sql, &parameters).await?
        }};
    }
    let touched = match part {
        Part::FirewallRules => write!("firewall_rules", &changed.firewall_rules),
        Part::MaintenanceWindow if changed.maintenance_window_is_set => write!(
            "maintenance_window_is_set = TRUE, maintenance_window_start_at",
            &changed.maintenance_window_start_at
        ),
        Part::MaintenanceWindow => write!(
            "maintenance_window_is_set = FALSE, maintenance_window_start_at",
            &changed.maintenance_window_start_at
        ),
        Part::Password => write!("password_is_set = FALSE, password", &changed.password),
        Part::TargetVersion => write!("target_version", &changed.target_version),
    };
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
