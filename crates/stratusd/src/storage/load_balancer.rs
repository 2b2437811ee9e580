//! Load balancers and what is attached to them.

use diesel::QueryableByName;
use diesel::sql_types::Text;

use super::page::{PageSql, fetch, page_sql};
use super::schema::load_balancer;
use super::statement::Sql;
use super::vm::Vm;
use super::{Connection, StorageError, count};
use crate::domain::list::{Order, Page};

/// A load balancer.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = load_balancer)]
pub struct LoadBalancer {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub location: String,
    /// Its name.
    pub name: String,
    /// How it chooses.
    pub algorithm: String,
    /// The port that it listens on.
    pub src_port: i64,
    /// The port of the virtual machines.
    pub dst_port: i64,
    /// What it asks for health.
    pub health_check_endpoint: String,
    /// How it asks.
    pub health_check_protocol: String,
    /// Which versions of IP it speaks.
    pub stack: String,
    /// Whether it has a certificate.
    pub cert_enabled: bool,
    /// Its private subnet's id.
    pub subnet_id: String,
    /// Its private subnet's name.
    #[diesel(sql_type = Text)]
    pub subnet: String,
    /// How often it was changed: a change counts only on the revision that it has seen.
    pub revision: i64,
}

/// A page of the load balancers of a project, or of one location, and how many there are.
pub async fn page(
    c: &mut Connection<'_>,
    project: &str,
    location: Option<&str>,
    page: &Page,
) -> Result<(i64, Vec<LoadBalancer>), StorageError> {
    macro_rules! sql {
        ($location:literal, $after:literal, $order:literal, $index:literal) => {
            page_sql!(
                "t.id, t.location, t.name, t.algorithm, t.src_port, t.dst_port, t.health_check_endpoint, \
                 t.health_check_protocol, t.stack, t.cert_enabled, t.subnet_id, t.revision, \
                 (SELECT s.name FROM private_subnet AS s WHERE s.project_id = $1 AND s.id = t.subnet_id) AS subnet",
                "load_balancer",
                "load_balancer",
                location: $location,
                after: $after,
                order: $order,
                index: $index
            )
        };
    }
    if let Some(location) = location {
        let sql = match page.order {
            Order::Id => sql!(
                " AND location = $4",
                "t.id > $2",
                "id",
                " INDEXED BY load_balancer_by_location"
            ),
            Order::Name => sql!(" AND location = $4", "t.name > $2", "name, id", ""),
        };
        fetch(c, sql, &[&project, &page.after, &page.size, &location]).await
    } else {
        let sql = match page.order {
            Order::Id => sql!("", "t.id > $2", "id", ""),
            Order::Name => sql!("", "t.name > $2", "name, id", ""),
        };
        fetch(c, sql, &[&project, &page.after, &page.size]).await
    }
}

macro_rules! select {
    ($where:literal) => {
        concat!(
            "SELECT t.id, t.location, t.name, t.algorithm, t.src_port, t.dst_port, t.health_check_endpoint, \
             t.health_check_protocol, t.stack, t.cert_enabled, t.subnet_id, t.revision, s.name AS subnet \
             FROM load_balancer AS t JOIN private_subnet AS s \
             ON s.project_id = t.project_id AND s.id = t.subnet_id WHERE t.project_id = $1 AND ",
            $where
        )
    };
}

/// One of a location, by id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    place: (&str, &str),
    id: &str,
) -> Result<Option<LoadBalancer>, StorageError> {
    c.fetch_optional::<LoadBalancer>(
        select!("t.location = $2 AND t.id = $3"),
        &[&place.0, &place.1, &id],
    )
    .await
}

/// One of a location, by name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    place: (&str, &str),
    name: &str,
) -> Result<Option<LoadBalancer>, StorageError> {
    c.fetch_optional::<LoadBalancer>(
        select!("t.location = $2 AND t.name = $3"),
        &[&place.0, &place.1, &name],
    )
    .await
}

/// All of a project.
pub async fn of_project(
    c: &mut Connection<'_>,
    project: &str,
) -> Result<Vec<LoadBalancer>, StorageError> {
    c.fetch_all::<LoadBalancer>(select!("TRUE ORDER BY t.location, t.name"), &[&project])
        .await
}

/// What is attached to one, by id.
pub async fn vms(c: &mut Connection<'_>, project: &str, id: &str) -> Result<Vec<Vm>, StorageError> {
    let sql = "SELECT vm.id, vm.location, vm.name, vm.ip4, vm.ip4_enabled, vm.ip6, vm.size, vm.state, \
               vm.storage_size_gib, vm.unix_user \
               FROM load_balancer_vm AS attached JOIN vm \
               ON vm.project_id = attached.project_id AND vm.id = attached.vm_id \
               WHERE attached.project_id = $1 AND attached.load_balancer_id = $2 ORDER BY vm.id";
    c.fetch_all::<Vm>(sql, &[&project, &id]).await
}

/// Makes a load balancer.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &str,
    new: &LoadBalancer,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO load_balancer (project_id, id, location, name, algorithm, src_port, dst_port, \
               health_check_endpoint, health_check_protocol, stack, cert_enabled, subnet_id) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    c.execute(
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
        ],
    )
    .await?;
    count::add(
        c,
        count::Kind::LoadBalancer,
        (project, &new.location, &new.id),
        1,
    )
    .await
}

/// Changes everything but id, location and name.
///
/// # Errors
///
/// A conflict if it is not at the revision any more that `changed` was read at.
pub async fn update(
    c: &mut Connection<'_>,
    project: &str,
    changed: &LoadBalancer,
) -> Result<(), StorageError> {
    let sql = "UPDATE load_balancer SET algorithm = $4, src_port = $5, dst_port = $6, health_check_endpoint = $7, \
               health_check_protocol = $8, stack = $9, cert_enabled = $10, subnet_id = $11, revision = revision + 1 \
               WHERE project_id = $1 AND id = $2 AND revision = $3";
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
            ],
        )
        .await?;
    if touched == 1 {
        Ok(())
    } else {
        Err(StorageError::Conflict)
    }
}

/// Attaches exactly these, a JSON array of ids, in place of what is attached.
pub async fn attach_only(
    c: &mut Connection<'_>,
    project: &str,
    id: &str,
    vms: &str,
) -> Result<(), StorageError> {
    c.execute(
        Sql {
            sqlite: "DELETE FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2 \
                 AND vm_id NOT IN (SELECT value FROM json_each($3))",
            postgres: "DELETE FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2 \
                   AND vm_id NOT IN (SELECT jsonb_array_elements_text($3::jsonb))",
        },
        &[&project, &id, &vms],
    )
    .await?;
    c.execute(
        Sql {
            sqlite: "INSERT INTO load_balancer_vm (project_id, load_balancer_id, vm_id) \
                 SELECT $1, $2, value FROM json_each($3) WHERE value NOT IN \
                 (SELECT vm_id FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2)",
            postgres: "INSERT INTO load_balancer_vm (project_id, load_balancer_id, vm_id) \
                   SELECT $1, $2, value FROM jsonb_array_elements_text($3::jsonb) AS value WHERE value NOT IN \
                   (SELECT vm_id FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2)",
        },
        &[&project, &id, &vms],
    )
    .await?;
    Ok(())
}

/// Detaches one.
///
/// # Errors
///
/// A conflict if the load balancer is not at the revision any more that `of` was read at: whoever attaches at the same
/// time would take for attached what is about to go.
pub async fn detach(
    c: &mut Connection<'_>,
    project: &str,
    of: &LoadBalancer,
    vm: &str,
) -> Result<(), StorageError> {
    let sql = "UPDATE load_balancer SET revision = revision + 1 WHERE project_id = $1 AND id = $2 AND revision = $3";
    if c.execute(sql, &[&project, &of.id, &of.revision]).await? == 0 {
        return Err(StorageError::Conflict);
    }
    let sql = "DELETE FROM load_balancer_vm WHERE project_id = $1 AND vm_id = $2 AND load_balancer_id = $3";
    c.execute(sql, &[&project, &vm, &of.id]).await?;
    Ok(())
}

/// Removes a load balancer; what was attached is free.
pub async fn delete(
    c: &mut Connection<'_>,
    project: &str,
    gone: &LoadBalancer,
) -> Result<(), StorageError> {
    c.execute(
        "DELETE FROM load_balancer_vm WHERE project_id = $1 AND load_balancer_id = $2",
        &[&project, &gone.id],
    )
    .await?;
    c.execute(
        "DELETE FROM load_balancer WHERE project_id = $1 AND id = $2",
        &[&project, &gone.id],
    )
    .await?;
    count::add(
        c,
        count::Kind::LoadBalancer,
        (project, &gone.location, &gone.id),
        -1,
    )
    .await
}
