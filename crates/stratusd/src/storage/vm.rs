//! Virtual machines.

use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};

use super::page::{PageSql, fetch, page_sql};
use super::schema::vm;
use super::statement::Sql;
use super::{Connection, StorageError, count};
use crate::domain::list::{Order, Page};

/// A virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = vm)]
pub struct Vm {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub location: String,
    /// Its name.
    pub name: String,
    /// Its public IPv4 address.
    pub ip4: Option<String>,
    /// Whether it shall have one.
    pub ip4_enabled: bool,
    /// Its public IPv6 address.
    pub ip6: Option<String>,
    /// Its size.
    pub size: String,
    /// What it is doing.
    pub state: String,
    /// Its storage in GiB.
    pub storage_size_gib: i64,
    /// The user to log in as.
    pub unix_user: String,
}

/// A virtual machine beside the load balancer that it is attached to.
#[derive(Debug, Clone, QueryableByName)]
pub struct AttachedVm {
    /// The virtual machine.
    #[diesel(embed)]
    pub vm: Vm,
    /// The load balancer that has it.
    #[diesel(sql_type = Nullable<Text>)]
    pub load_balancer_id: Option<String>,
}

/// A page of the virtual machines of a location, and how many there are.
pub async fn page(
    c: &mut Connection<'_>,
    project: &str,
    location: &str,
    page: &Page,
) -> Result<(i64, Vec<Vm>), StorageError> {
    macro_rules! sql {
        ($after:literal, $order:literal, $index:literal) => {
            page_sql!(
                "id, location, name, ip4, ip4_enabled, ip6, size, state, storage_size_gib, unix_user",
                "vm",
                "vm",
                location: " AND location = $4",
                after: $after,
                order: $order,
                index: $index
            )
        };
    }
    let sql = match page.order {
        Order::Id => sql!("t.id > $2", "id", " INDEXED BY vm_by_location"),
        Order::Name => sql!("t.name > $2", "name, id", ""),
    };
    fetch(c, sql, &[&project, &page.after, &page.size, &location]).await
}

/// Those of a location that have one of these ids, with whom they are attached to; by id. `ids` is a JSON array.
pub async fn of_ids(
    c: &mut Connection<'_>,
    project: &str,
    location: &str,
    ids: &str,
) -> Result<Vec<AttachedVm>, StorageError> {
    macro_rules! sql {
        ($ids:literal) => {
            concat!(
                "SELECT vm.id, vm.location, vm.name, vm.ip4, vm.ip4_enabled, vm.ip6, vm.size, vm.state, \
                 vm.storage_size_gib, vm.unix_user, attached.load_balancer_id \
                 FROM vm LEFT JOIN load_balancer_vm AS attached \
                 ON attached.project_id = vm.project_id AND attached.vm_id = vm.id \
                 WHERE vm.project_id = $1 AND vm.location = $2 AND vm.id IN (",
                $ids,
                ") ORDER BY vm.id"
            )
        };
    }
    c.fetch_all::<AttachedVm>(
        Sql {
            sqlite: sql!("SELECT value FROM json_each($3)"),
            postgres: sql!("SELECT jsonb_array_elements_text($3::jsonb)"),
        },
        &[&project, &location, &ids],
    )
    .await
}

/// All of a project.
pub async fn of_project(c: &mut Connection<'_>, project: &str) -> Result<Vec<Vm>, StorageError> {
    let sql = "SELECT id, location, name, ip4, ip4_enabled, ip6, size, state, storage_size_gib, unix_user \
               FROM vm WHERE project_id = $1 ORDER BY location, name";
    c.fetch_all::<Vm>(sql, &[&project]).await
}

/// Makes a virtual machine.
pub async fn insert(c: &mut Connection<'_>, project: &str, vm: &Vm) -> Result<(), StorageError> {
    let sql = "INSERT INTO vm (project_id, id, location, name, ip4, ip4_enabled, ip6, size, state, \
               storage_size_gib, unix_user) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    c.execute(
        sql,
        &[
            &project,
            &vm.id,
            &vm.location,
            &vm.name,
            &vm.ip4,
            &vm.ip4_enabled,
            &vm.ip6,
            &vm.size,
            &vm.state,
            &vm.storage_size_gib,
            &vm.unix_user,
        ],
    )
    .await?;
    count::add(c, count::Kind::Vm, (project, &vm.location, &vm.id), 1).await
}

/// Changes everything but id, location and name.
pub async fn update(c: &mut Connection<'_>, project: &str, vm: &Vm) -> Result<(), StorageError> {
    let sql = "UPDATE vm SET ip4 = $3, ip4_enabled = $4, ip6 = $5, size = $6, state = $7, storage_size_gib = $8, \
               unix_user = $9 WHERE project_id = $1 AND id = $2";
    c.execute(
        sql,
        &[
            &project,
            &vm.id,
            &vm.ip4,
            &vm.ip4_enabled,
            &vm.ip6,
            &vm.size,
            &vm.state,
            &vm.storage_size_gib,
            &vm.unix_user,
        ],
    )
    .await?;
    Ok(())
}

/// Removes a virtual machine, also from whatever has it.
pub async fn delete(c: &mut Connection<'_>, project: &str, vm: &Vm) -> Result<(), StorageError> {
    c.execute(
        "DELETE FROM load_balancer_vm WHERE project_id = $1 AND vm_id = $2",
        &[&project, &vm.id],
    )
    .await?;
    c.execute(
        "UPDATE nic SET vm_id = NULL WHERE project_id = $1 AND vm_id = $2",
        &[&project, &vm.id],
    )
    .await?;
    c.execute(
        "DELETE FROM vm WHERE project_id = $1 AND id = $2",
        &[&project, &vm.id],
    )
    .await?;
    count::add(c, count::Kind::Vm, (project, &vm.location, &vm.id), -1).await
}
