//! Private subnets, their network interfaces, and which are connected.

use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};

use super::schema::{nic, private_subnet};
use super::{Connection, StorageError};

/// A private subnet.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = private_subnet)]
pub struct PrivateSubnet {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub location: String,
    /// Its name.
    pub name: String,
    /// Its IPv4 network.
    pub net4: String,
    /// Its IPv6 network.
    pub net6: String,
    /// What it is doing.
    pub state: String,
    /// Whether the operator has declared it.
    pub is_declared: bool,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = nic)]
pub struct Nic {
    /// The private subnet's id.
    pub subnet_id: String,
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its address in the subnet's IPv4 network.
    pub private_ipv4: String,
    /// Its address in the subnet's IPv6 network.
    pub private_ipv6: String,
    /// The id of the virtual machine that uses it.
    pub vm_id: Option<String>,
    /// The name of the virtual machine that uses it.
    #[diesel(sql_type = Nullable<Text>)]
    pub vm_name: Option<String>,
}

/// One of a location, by id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    place: (&str, &str),
    id: &str,
) -> Result<Option<PrivateSubnet>, StorageError> {
    let sql = "SELECT id, location, name, net4, net6, state, is_declared FROM private_subnet \
               WHERE project_id = $1 AND location = $2 AND id = $3";
    c.fetch_optional::<PrivateSubnet>(sql, &[&place.0, &place.1, &id])
        .await
}

/// One of a location, by name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    place: (&str, &str),
    name: &str,
) -> Result<Option<PrivateSubnet>, StorageError> {
    let sql = "SELECT id, location, name, net4, net6, state, is_declared FROM private_subnet \
               WHERE project_id = $1 AND location = $2 AND name = $3";
    c.fetch_optional::<PrivateSubnet>(sql, &[&place.0, &place.1, &name])
        .await
}

/// All of a project.
pub async fn of_project(
    c: &mut Connection<'_>,
    project: &str,
) -> Result<Vec<PrivateSubnet>, StorageError> {
    let sql = "SELECT id, location, name, net4, net6, state, is_declared FROM private_subnet WHERE project_id = $1 \
               ORDER BY location, name";
    c.fetch_all::<PrivateSubnet>(sql, &[&project]).await
}

/// Whether a project has one of these networks already.
pub async fn has_network(
    c: &mut Connection<'_>,
    project: &str,
    net4: &str,
    net6: &str,
) -> Result<bool, StorageError> {
    let sql = "SELECT id FROM private_subnet WHERE project_id = $1 AND net4 = $2 \
               UNION ALL SELECT id FROM private_subnet WHERE project_id = $1 AND net6 = $3";
    c.exists(sql, &[&project, &net4, &net6]).await
}

/// The name of the subnet of a project that has a network, and where it is.
pub async fn name_of_network(
    c: &mut Connection<'_>,
    project: &str,
    network: &str,
) -> Result<Option<String>, StorageError> {
    let sql = "SELECT id, location, name, net4, net6, state, is_declared FROM private_subnet \
               WHERE project_id = $1 AND net4 = $2 UNION ALL \
               SELECT id, location, name, net4, net6, state, is_declared FROM private_subnet \
               WHERE project_id = $1 AND net6 = $2";
    let found = c
        .fetch_optional::<PrivateSubnet>(sql, &[&project, &network])
        .await?;
    Ok(found.map(|subnet| format!("{}/{}", subnet.location, subnet.name)))
}

/// Gives a subnet other networks.
pub async fn renumber(
    c: &mut Connection<'_>,
    project: &str,
    id: &str,
    (net4, net6): (&str, &str),
) -> Result<(), StorageError> {
    let sql = "UPDATE private_subnet SET net4 = $3, net6 = $4 WHERE project_id = $1 AND id = $2";
    c.execute(sql, &[&project, &id, &net4, &net6]).await?;
    Ok(())
}

/// The network interfaces of a subnet, by id.
pub async fn nics(
    c: &mut Connection<'_>,
    project: &str,
    subnet: &str,
) -> Result<Vec<Nic>, StorageError> {
    let sql = "SELECT n.subnet_id, n.id, n.name, n.private_ipv4, n.private_ipv6, n.vm_id, vm.name AS vm_name \
               FROM nic AS n LEFT JOIN vm ON vm.project_id = n.project_id AND vm.id = n.vm_id \
               WHERE n.project_id = $1 AND n.subnet_id = $2 ORDER BY n.id";
    c.fetch_all::<Nic>(sql, &[&project, &subnet]).await
}

/// Whether two subnets are connected, whichever comes first.
pub async fn is_linked(
    c: &mut Connection<'_>,
    project: &str,
    one: &str,
    other: &str,
) -> Result<bool, StorageError> {
    let sql = "SELECT low_id FROM private_subnet_link WHERE project_id = $1 AND low_id = $2 AND high_id = $3";
    c.exists(sql, &[&project, &one.min(other), &one.max(other)])
        .await
}

/// Makes a subnet.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &str,
    new: &PrivateSubnet,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO private_subnet (project_id, id, location, name, net4, net6, state, is_declared) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    c.execute(
        sql,
        &[
            &project,
            &new.id,
            &new.location,
            &new.name,
            &new.net4,
            &new.net6,
            &new.state,
            &new.is_declared,
        ],
    )
    .await?;
    Ok(())
}

/// Makes a subnet the operator's.
pub async fn declare(c: &mut Connection<'_>, project: &str, id: &str) -> Result<(), StorageError> {
    c.execute(
        "UPDATE private_subnet SET is_declared = TRUE WHERE project_id = $1 AND id = $2",
        &[&project, &id],
    )
    .await?;
    Ok(())
}

/// Connects two subnets.
pub async fn link(
    c: &mut Connection<'_>,
    project: &str,
    one: &str,
    other: &str,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO private_subnet_link (project_id, low_id, high_id) VALUES ($1, $2, $3)";
    c.execute(sql, &[&project, &one.min(other), &one.max(other)])
        .await?;
    Ok(())
}

/// Makes a network interface.
pub async fn insert_nic(
    c: &mut Connection<'_>,
    project: &str,
    nic: &Nic,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO nic (project_id, subnet_id, id, name, private_ipv4, private_ipv6, vm_id) \
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    c.execute(
        sql,
        &[
            &project,
            &nic.subnet_id,
            &nic.id,
            &nic.name,
            &nic.private_ipv4,
            &nic.private_ipv6,
            &nic.vm_id,
        ],
    )
    .await?;
    Ok(())
}

/// Removes a network interface.
pub async fn delete_nic(
    c: &mut Connection<'_>,
    project: &str,
    nic: &Nic,
) -> Result<(), StorageError> {
    let sql = "DELETE FROM nic WHERE project_id = $1 AND subnet_id = $2 AND id = $3";
    c.execute(sql, &[&project, &nic.subnet_id, &nic.id]).await?;
    Ok(())
}

/// Removes a subnet with its interfaces and links. A load balancer in it is in the way.
pub async fn delete(c: &mut Connection<'_>, project: &str, id: &str) -> Result<(), StorageError> {
    c.execute(
        "DELETE FROM nic WHERE project_id = $1 AND subnet_id = $2",
        &[&project, &id],
    )
    .await?;
    c.execute(
        "DELETE FROM private_subnet_link WHERE project_id = $1 AND (low_id = $2 OR high_id = $2)",
        &[&project, &id],
    )
    .await?;
    c.execute(
        "DELETE FROM firewall_subnet WHERE project_id = $1 AND subnet_id = $2",
        &[&project, &id],
    )
    .await?;
    c.execute(
        "DELETE FROM private_subnet WHERE project_id = $1 AND id = $2",
        &[&project, &id],
    )
    .await?;
    Ok(())
}
