//! Virtual machines.

use api_types::{
    Count, Ipv4Address, Ipv6Address, LoadBalancerId, Location, Name, ProjectId, StorageSizeGib,
    VmId, VmSize, VmState,
};

use super::page::{PageSql, fetch, page_sql};
use super::record::{Record, Row, column, record};
use super::statement::{JsonArray, Parameter, statement};
use super::{Connection, Corrupt, StorageError, count};
use crate::domain::list::{Order, Page};

record! {
    /// A virtual machine.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Vm in "vm" {
        /// The id.
        pub id: VmId,
        /// The location.
        pub location: Location,
        /// The name, unique in its location.
        pub name: Name,
        /// The public IPv4 address.
        pub ip4: Option<Ipv4Address>,
        /// Whether the virtual machine should have a public IPv4 address.
        pub ip4_enabled: bool,
        /// The public IPv6 address.
        pub ip6: Option<Ipv6Address>,
        /// The size.
        pub size: VmSize,
        /// The state.
        pub state: VmState,
        /// The storage in GiB.
        pub storage_size_gib: StorageSizeGib,
        /// The user to log in as.
        pub unix_user: String,
        /// The image that the virtual machine was started from, if an inventory declares it.
        pub boot_image: Option<String>,
    }
    columns vm_columns;
}

pub(super) use vm_columns;

/// A virtual machine and the load balancer that it is attached to.
#[derive(Debug, Clone)]
pub struct AttachedVm {
    /// The virtual machine.
    pub vm: Vm,
    /// The id of the load balancer.
    pub load_balancer_id: Option<LoadBalancerId>,
}

impl Record for AttachedVm {
    const COLUMNS: usize = Vm::COLUMNS + 1;

    fn read(row: &dyn Row) -> Result<Self, Corrupt> {
        Ok(Self {
            vm: Vm::read(row)?,
            load_balancer_id: column(row, "load_balancer_vm", "load_balancer_id")?,
        })
    }
}

/// Returns a page of the virtual machines of a location, and the size of the whole list.
pub async fn page(
    c: &mut Connection<'_>,
    project: &ProjectId,
    location: &Location,
    page: &Page,
) -> Result<(Count, Vec<Vm>), StorageError> {
    macro_rules! sql {
        ($column:literal, $index:literal) => {
            page_sql!(
                vm_columns!(),
                of_location: "vm",
                "vm",
                by: $column,
                index: $index,
                bytes: "0"
            )
        };
    }
    let parameters: [&dyn Parameter; 4] = [&project, &page.after, &page.size, &location];
    match page.order {
        Order::Id => fetch(c, sql!("id", " INDEXED BY vm_of_location"), &parameters).await,
        Order::Name => fetch(c, sql!("name", ""), &parameters).await,
    }
}

/// Looks up a virtual machine of a project and location by its id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    id: &str,
) -> Result<Option<Vm>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        vm_columns!(),
        " FROM vm AS t WHERE t.project_id = $1 AND t.location = $2 AND t.id = $3"
    ));
    c.fetch_optional::<Vm>(sql, &[&project, &location, &id])
        .await
}

/// Looks up a virtual machine of a project and location by its name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    name: &str,
) -> Result<Option<Vm>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        vm_columns!(),
        " FROM vm AS t WHERE t.project_id = $1 AND t.location = $2 AND t.name = $3"
    ));
    c.fetch_optional::<Vm>(sql, &[&project, &location, &name])
        .await
}

/// Returns the virtual machines of a location with given ids, none of them given twice, each with the
/// load balancer that it is attached to.
pub async fn of_ids(
    c: &mut Connection<'_>,
    project: &ProjectId,
    location: &Location,
    ids: &[&str],
) -> Result<Vec<AttachedVm>, StorageError> {
    macro_rules! sql {
        ($from:literal) => {
            concat!(
                "SELECT ",
                vm_columns!(),
                ", (SELECT attached.load_balancer_id FROM load_balancer_vm AS attached \
                 WHERE attached.project_id = $1 AND attached.vm_id = t.id) AS load_balancer_id FROM ",
                $from,
                " ORDER BY t.id"
            )
        };
    }
    // Both databases begin with the ids, as in `attached!`: beside a project of the usual size, a
    // planner would rather read the whole project than search for each of many ids.
    let sql = statement! {
        sqlite: sql!(
            "json_each($3) AS wanted CROSS JOIN vm AS t \
             WHERE t.project_id = $1 AND t.location = $2 AND t.id = wanted.value"
        ),
        postgres: sql!(
            "jsonb_array_elements_text($3::jsonb) AS wanted (id) CROSS JOIN LATERAL (SELECT * FROM vm AS named \
             WHERE named.project_id = $1 AND named.location = $2 AND named.id = wanted.id OFFSET 0) AS t"
        ),
    };
    c.fetch_all::<AttachedVm>(sql, &[&project, &location, &JsonArray(ids)])
        .await
}

/// Returns all virtual machines of a project, sorted by location and name.
pub async fn of_project(
    c: &mut Connection<'_>,
    project: &ProjectId,
) -> Result<Vec<Vm>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        vm_columns!(),
        " FROM vm AS t WHERE t.project_id = $1 ORDER BY t.location, t.name"
    ));
    c.fetch_all::<Vm>(sql, &[&project]).await
}

/// Inserts a virtual machine.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &ProjectId,
    vm: &Vm,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO vm (project_id, id, location, name, ip4, ip4_enabled, ip6, size, state, \
               storage_size_gib, unix_user, boot_image) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    );
    c.insert(
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
            &vm.boot_image,
        ],
    )
    .await?;
    count::add(
        c,
        count::Kind::Vm,
        (project, vm.location.as_str(), vm.id.as_str()),
        1,
    )
    .await
}

/// Writes all columns except id, location and name.
pub async fn update(
    c: &mut Connection<'_>,
    project: &ProjectId,
    vm: &Vm,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE vm SET ip4 = $3, ip4_enabled = $4, ip6 = $5, size = $6, state = $7, storage_size_gib = $8, \
               unix_user = $9, boot_image = $10 WHERE project_id = $1 AND id = $2"
    );
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
            &vm.boot_image,
        ],
    )
    .await?;
    Ok(())
}

/// Deletes a virtual machine, after detaching it from its load balancer and its network interfaces.
pub async fn delete(
    c: &mut Connection<'_>,
    project: &ProjectId,
    vm: &Vm,
) -> Result<(), StorageError> {
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
    count::add(
        c,
        count::Kind::Vm,
        (project, vm.location.as_str(), vm.id.as_str()),
        -1,
    )
    .await
}
