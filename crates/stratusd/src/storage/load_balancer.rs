//! Load balancers and the virtual machines that are attached to them.

use api_types::{
    Count, HealthCheckEndpoint, HealthCheckProtocol, LoadBalancerAlgorithm, LoadBalancerId,
    Location, Name, NetworkStack, Port, PrivateSubnetId, ProjectId, VmId,
};

use super::page::{PageSql, fetch, page_sql};
use super::record::record;
use super::statement::{JsonArray, Parameter, attached, statement};
use super::vm::{Vm, vm_columns};
use super::{Connection, StorageError, count, ensure_touched};
use crate::domain::list::{Order, Page};

record! {
    /// A load balancer.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LoadBalancer in "load_balancer" {
        /// The id.
        pub id: LoadBalancerId,
        /// The location.
        pub location: Location,
        /// The name, unique in its location.
        pub name: Name,
        /// How the load balancer chooses a virtual machine.
        pub algorithm: LoadBalancerAlgorithm,
        /// The port that the load balancer listens on.
        pub src_port: Port,
        /// The port of the virtual machines.
        pub dst_port: Port,
        /// The path or URL of health checks.
        pub health_check_endpoint: HealthCheckEndpoint,
        /// The protocol of health checks.
        pub health_check_protocol: HealthCheckProtocol,
        /// The versions of IP that the load balancer supports.
        pub stack: NetworkStack,
        /// Whether the load balancer has a certificate.
        pub cert_enabled: bool,
        /// The id of the private subnet.
        pub subnet_id: PrivateSubnetId,
        /// Whether the operator declared the load balancer in an inventory.
        pub is_declared: bool,
        /// The number of changes so far. A change counts only if it has read the latest revision.
        pub revision: i64,
    } with {
        /// The name of the private subnet.
        pub subnet: Name,
    }
    columns load_balancer_columns;
}

/// Returns a page of the load balancers of a project or of one location, and the size of the whole
/// list.
pub async fn page(
    c: &mut Connection<'_>,
    project: &ProjectId,
    location: Option<&Location>,
    page: &Page,
) -> Result<(Count, Vec<LoadBalancer>), StorageError> {
    macro_rules! of_location {
        ($column:literal, $index:literal) => {
            page_sql!(
                columns!(),
                of_location: "load_balancer",
                "load_balancer",
                by: $column,
                index: $index,
                bytes: "octet_length(t.health_check_endpoint)"
            )
        };
    }
    macro_rules! of_project {
        ($after:literal, $order:literal) => {
            page_sql!(
                columns!(),
                of_project: "load_balancer",
                "load_balancer",
                after: $after,
                order: $order,
                bytes: "octet_length(t.health_check_endpoint)"
            )
        };
    }
    if let Some(location) = location {
        let parameters: [&dyn Parameter; 4] = [&project, &page.after, &page.size, &location];
        match page.order {
            Order::Id => {
                let sql = of_location!("id", " INDEXED BY load_balancer_of_location");
                fetch(c, sql, &parameters).await
            }
            Order::Name => fetch(c, of_location!("name", ""), &parameters).await,
        }
    } else {
        let parameters: [&dyn Parameter; 3] = [&project, &page.after, &page.size];
        match page.order {
            Order::Id => fetch(c, of_project!("id", "id"), &parameters).await,
            Order::Name => fetch(c, of_project!("name", "name, id"), &parameters).await,
        }
    }
}

/// The columns of a load balancer, with the name of its subnet. A subquery and not a join, which a
/// planner could begin with the subnets of the project.
macro_rules! columns {
    () => {
        concat!(
            load_balancer_columns!(),
            ", (SELECT s.name FROM private_subnet AS s WHERE s.project_id = $1 AND s.id = t.subnet_id) AS subnet"
        )
    };
}

use columns;

macro_rules! select {
    ($where:literal) => {
        statement!(concat!(
            "SELECT ",
            columns!(),
            " FROM load_balancer AS t WHERE t.project_id = $1 AND ",
            $where
        ))
    };
}

/// Looks up a load balancer of a location by its id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    id: &str,
) -> Result<Option<LoadBalancer>, StorageError> {
    c.fetch_optional::<LoadBalancer>(
        select!("t.location = $2 AND t.id = $3"),
        &[&project, &location, &id],
    )
    .await
}

/// Looks up a load balancer of a location by its name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    name: &str,
) -> Result<Option<LoadBalancer>, StorageError> {
    c.fetch_optional::<LoadBalancer>(
        select!("t.location = $2 AND t.name = $3"),
        &[&project, &location, &name],
    )
    .await
}

/// Returns all load balancers of a project, sorted by location and name.
pub async fn of_project(
    c: &mut Connection<'_>,
    project: &ProjectId,
) -> Result<Vec<LoadBalancer>, StorageError> {
    c.fetch_all::<LoadBalancer>(select!("TRUE ORDER BY t.location, t.name"), &[&project])
        .await
}

/// Returns the virtual machines that are attached to a load balancer, sorted by id.
pub async fn vms(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &LoadBalancerId,
) -> Result<Vec<Vm>, StorageError> {
    let sql = attached!(
        vm_columns!(),
        from: "vm" by "id",
        in: "load_balancer_vm" ("load_balancer_id", "vm_id"),
        order: "attached.vm_id"
    );
    c.fetch_all::<Vm>(sql, &[&project, &id]).await
}

/// Inserts a load balancer.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &ProjectId,
    new: &LoadBalancer,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO load_balancer (project_id, id, location, name, algorithm, src_port, dst_port, \
               health_check_endpoint, health_check_protocol, stack, cert_enabled, subnet_id, is_declared) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    );
    c.insert(
        sql,
        &[
            &project,
            &new.id,
            &new.location,
            &new.name,
            &new.algorithm,
            &new.src_port,
            &new.dst_port,
            &new.health_check_endpoint,
            &new.health_check_protocol,
            &new.stack,
            &new.cert_enabled,
            &new.subnet_id,
            &new.is_declared,
        ],
    )
    .await?;
    count::add(
        c,
        count::Kind::LoadBalancer,
        (project, new.location.as_str(), new.id.as_str()),
        1,
    )
    .await
}

/// Writes all columns except id, location and name.
///
/// # Errors
///
/// A conflict if the row is no longer at the revision of `changed`.
pub async fn update(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &LoadBalancer,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE load_balancer SET algorithm = $4, src_port = $5, dst_port = $6, health_check_endpoint = $7, \
               health_check_protocol = $8, stack = $9, cert_enabled = $10, subnet_id = $11, is_declared = $12, \
               revision = revision + 1 WHERE project_id = $1 AND id = $2 AND revision = $3"
    );
    let touched = c
        .execute(
            sql,
            &[
                &project,
                &changed.id,
                &changed.revision,
                &changed.algorithm,
                &changed.src_port,
                &changed.dst_port,
                &changed.health_check_endpoint,
                &changed.health_check_protocol,
                &changed.stack,
                &changed.cert_enabled,
                &changed.subnet_id,
                &changed.is_declared,
            ],
        )
        .await?;
    ensure_touched(touched)
}

/// Attaches exactly these virtual machines, in place of those that are attached.
pub async fn attach_only(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &LoadBalancerId,
    vms: &[&VmId],
) -> Result<(), StorageError> {
    let vms: Vec<&str> = vms.iter().map(|vm| vm.as_str()).collect();
    let vms = JsonArray(&vms);
    // Only the difference is written: a row that stays keeps its place, and an update that attaches
    // nothing new writes no rows. The key rejects a virtual machine that a concurrent change has
    // attached elsewhere.
    c.execute(
        statement!(sqlite: "DELETE FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2 \
                 AND vm_id NOT IN (SELECT value FROM json_each($3))", postgres: "DELETE FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2 \
                   AND vm_id NOT IN (SELECT jsonb_array_elements_text($3::jsonb))"),
        &[&project, &id, &vms],
    )
    .await?;
    c.execute(
        statement!(sqlite: "INSERT INTO load_balancer_vm (project_id, load_balancer_id, vm_id) \
                 SELECT $1, $2, value FROM json_each($3) WHERE value NOT IN \
                 (SELECT vm_id FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2)", postgres: "INSERT INTO load_balancer_vm (project_id, load_balancer_id, vm_id) \
                   SELECT $1, $2, value FROM jsonb_array_elements_text($3::jsonb) AS value WHERE value NOT IN \
                   (SELECT vm_id FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2)"),
        &[&project, &id, &vms],
    )
    .await?;
    Ok(())
}

/// Attaches a virtual machine that is attached to no load balancer.
///
/// # Errors
///
/// A conflict if the row is no longer at the revision of `of`, or if a concurrent change has attached
/// the virtual machine.
pub async fn attach(
    c: &mut Connection<'_>,
    project: &ProjectId,
    of: &LoadBalancer,
    vm: &VmId,
) -> Result<(), StorageError> {
    advance(c, project, of).await?;
    let sql = statement!(
        "INSERT INTO load_balancer_vm (project_id, vm_id, load_balancer_id) VALUES ($1, $2, $3)"
    );
    c.insert(sql, &[&project, &vm, &of.id]).await
}

/// Detaches a virtual machine.
///
/// # Errors
///
/// A conflict if the row is no longer at the revision of `of`. Without this check, a concurrent
/// update could read the virtual machine as attached, keep it, and return it although it is gone.
pub async fn detach(
    c: &mut Connection<'_>,
    project: &ProjectId,
    of: &LoadBalancer,
    vm: &VmId,
) -> Result<(), StorageError> {
    // Even if the virtual machine is not attached, so that what is read after this has the revision
    // that was read before.
    advance(c, project, of).await?;
    let sql = statement!(
        "DELETE FROM load_balancer_vm WHERE project_id = $1 AND vm_id = $2 AND load_balancer_id = $3"
    );
    c.execute(sql, &[&project, &vm, &of.id]).await?;
    Ok(())
}

/// Increments the revision of a load balancer, so that what is read after this belongs to the row
/// that was read before.
///
/// # Errors
///
/// A conflict if the row is no longer at the revision of `of`.
pub async fn advance(
    c: &mut Connection<'_>,
    project: &ProjectId,
    of: &LoadBalancer,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE load_balancer SET revision = revision + 1 WHERE project_id = $1 AND id = $2 AND revision = $3"
    );
    ensure_touched(c.touch(sql, &[&project, &of.id, &of.revision]).await?)
}

/// Deletes a load balancer and detaches its virtual machines.
pub async fn delete(
    c: &mut Connection<'_>,
    project: &ProjectId,
    gone: &LoadBalancer,
) -> Result<(), StorageError> {
    c.execute(
        statement!("DELETE FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2"),
        &[&project, &gone.id],
    )
    .await?;
    let deleted = c
        .execute(
            statement!("DELETE FROM load_balancer WHERE project_id = $1 AND id = $2"),
            &[&project, &gone.id],
        )
        .await?;
    // Of two changes that delete the same one at the same time, only one may count it.
    ensure_touched(deleted)?;
    count::add(
        c,
        count::Kind::LoadBalancer,
        (project, gone.location.as_str(), gone.id.as_str()),
        -1,
    )
    .await
}
