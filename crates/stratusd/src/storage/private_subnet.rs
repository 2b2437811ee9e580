//! Private subnets, their network interfaces, and their connections (links) to each other.

use api_types::{
    Count, Ipv4Address, Ipv4Cidr, Ipv6Address, Ipv6Cidr, Location, Name, NicId, PrivateSubnetId,
    PrivateSubnetState, ProjectId, VmId,
};

use super::page::{PageSql, fetch, page_sql};
use super::record::record;
use super::statement::{Parameter, statement};
use super::{Connection, StorageError, count, ensure_touched};
use crate::domain::list::{Order, Page};
use crate::domain::network::{Block, Net4, Net6};

record! {
    /// A private subnet.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PrivateSubnet in "private_subnet" {
        /// The id of the subnet.
        pub id: PrivateSubnetId,
        /// The location of the subnet.
        pub location: Location,
        /// The name of the subnet, unique in the project and location.
        pub name: Name,
        /// The IPv4 network of the subnet, unique in the project. It was written as a [`Net4`], which is
        /// not checked when it is read: parse it where its hosts are calculated.
        pub net4: Ipv4Cidr,
        /// The IPv6 network of the subnet, unique in the project. It was written as a [`Net6`].
        pub net6: Ipv6Cidr,
        /// The state of the subnet.
        pub state: PrivateSubnetState,
        /// Whether the operator declared the subnet in an inventory.
        pub is_declared: bool,
    }
    columns private_subnet_columns;
}

record! {
    /// A network interface of a private subnet.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Nic in "nic" {
        /// The id of the subnet that the interface is in.
        pub subnet_id: PrivateSubnetId,
        /// The id of the interface.
        pub id: NicId,
        /// The name of the interface, unique in its subnet.
        pub name: Name,
        /// The address of the interface in the subnet's IPv4 network.
        pub private_ipv4: Ipv4Address,
        /// The address of the interface in the subnet's IPv6 network.
        pub private_ipv6: Ipv6Address,
        /// The id of the virtual machine that uses the interface, or `None` if there is none.
        pub vm_id: Option<VmId>,
    } with {
        /// The name of the virtual machine that uses the interface. It is stored with that machine.
        pub vm_name: Option<Name>,
    }
    columns nic_columns;
}

record! {
    /// The place of a virtual machine in a private subnet.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Address in "nic" {
        /// The id of the subnet.
        pub subnet_id: PrivateSubnetId,
        /// The address in the subnet's IPv4 network.
        pub private_ipv4: Ipv4Address,
        /// The address in the subnet's IPv6 network.
        pub private_ipv6: Ipv6Address,
    } with {
        /// The name of the subnet. It is stored with the subnet.
        pub subnet: Name,
    }
    columns address_columns;
}

record! {
    /// The name of what uses a private subnet.
    struct User in "private_subnet" {
        name: Name,
    }
}

record! {
    /// The IPv4 network of a private subnet.
    struct TakenNetwork in "private_subnet" {
        net4: Net4,
    }
}

/// Returns a page of the private subnets of a project or of one location, and the size of the whole
/// list.
pub async fn page(
    c: &mut Connection<'_>,
    project: &ProjectId,
    location: Option<&Location>,
    page: &Page,
) -> Result<(Count, Vec<PrivateSubnet>), StorageError> {
    macro_rules! of_location {
        ($column:literal, $index:literal) => {
            page_sql!(
                private_subnet_columns!(),
                of_location: "private_subnet",
                "private_subnet",
                by: $column,
                index: $index,
                bytes: "0"
            )
        };
    }
    macro_rules! of_project {
        ($after:literal, $order:literal) => {
            page_sql!(
                private_subnet_columns!(),
                of_project: "private_subnet",
                "private_subnet",
                after: $after,
                order: $order,
                bytes: "0"
            )
        };
    }
    if let Some(location) = location {
        let parameters: [&dyn Parameter; 4] = [&project, &page.after, &page.size, &location];
        match page.order {
            Order::Id => {
                let sql = of_location!("id", " INDEXED BY private_subnet_of_location");
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

/// Looks up a private subnet of a project and location by its id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    id: &str,
) -> Result<Option<PrivateSubnet>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        private_subnet_columns!(),
        " FROM private_subnet AS t WHERE t.project_id = $1 AND t.location = $2 AND t.id = $3"
    ));
    c.fetch_optional::<PrivateSubnet>(sql, &[&project, &location, &id])
        .await
}

/// Looks up a private subnet of a project and location by its name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    name: &str,
) -> Result<Option<PrivateSubnet>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        private_subnet_columns!(),
        " FROM private_subnet AS t WHERE t.project_id = $1 AND t.location = $2 AND t.name = $3"
    ));
    c.fetch_optional::<PrivateSubnet>(sql, &[&project, &location, &name])
        .await
}

/// Returns all private subnets of a project, sorted by location and name.
pub async fn of_project(
    c: &mut Connection<'_>,
    project: &ProjectId,
) -> Result<Vec<PrivateSubnet>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        private_subnet_columns!(),
        " FROM private_subnet AS t WHERE t.project_id = $1 ORDER BY t.location, t.name"
    ));
    c.fetch_all::<PrivateSubnet>(sql, &[&project]).await
}

/// Returns whether a subnet of a project has this IPv4 network or this IPv6 network.
pub async fn has_network(
    c: &mut Connection<'_>,
    project: &ProjectId,
    net4: Net4,
    net6: Net6,
) -> Result<bool, StorageError> {
    let sql = statement!(
        "SELECT id FROM private_subnet WHERE project_id = $1 AND net4 = $2 \
               UNION ALL SELECT id FROM private_subnet WHERE project_id = $1 AND net6 = $3"
    );
    c.exists(sql, &[&project, &net4, &net6]).await
}

/// Returns the IPv4 networks of a project's subnets that are in a block: at most 1,024, all that a
/// block has.
pub async fn networks_in(
    c: &mut Connection<'_>,
    project: &ProjectId,
    block: Block,
) -> Result<Vec<Net4>, StorageError> {
    // A network is stored as a string, so the networks of a block are those with its prefix.
    let (after, before) = block.texts();
    let sql = statement!(
        "SELECT net4 FROM private_subnet WHERE project_id = $1 AND net4 > $2 AND net4 < $3"
    );
    let taken = c
        .fetch_all::<TakenNetwork>(sql, &[&project, &after, &before])
        .await?;
    Ok(taken.into_iter().map(|taken| taken.net4).collect())
}

/// Returns location and name, as `location/name`, of the subnet of a project that has an IPv4 or
/// IPv6 network, which is given in CIDR notation.
pub async fn name_of_network(
    c: &mut Connection<'_>,
    project: &ProjectId,
    network: &str,
) -> Result<Option<String>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        private_subnet_columns!(),
        " FROM private_subnet AS t WHERE t.project_id = $1 AND t.net4 = $2 UNION ALL SELECT ",
        private_subnet_columns!(),
        " FROM private_subnet AS t WHERE t.project_id = $1 AND t.net6 = $2"
    ));
    let found = c
        .fetch_optional::<PrivateSubnet>(sql, &[&project, &network])
        .await?;
    Ok(found.map(|subnet| format!("{}/{}", subnet.location, subnet.name)))
}

/// Replaces both networks of a subnet.
pub async fn renumber(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PrivateSubnetId,
    (net4, net6): (Net4, Net6),
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE private_subnet SET net4 = $3, net6 = $4 WHERE project_id = $1 AND id = $2"
    );
    c.execute(sql, &[&project, &id, &net4, &net6]).await?;
    Ok(())
}

/// Returns the network interfaces of a subnet, sorted by id.
pub async fn nics(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
) -> Result<Vec<Nic>, StorageError> {
    // A subquery and not a join, which a planner could begin with the virtual machines of the
    // project.
    let sql = statement!(concat!(
        "SELECT ",
        nic_columns!(),
        ", (SELECT vm.name FROM vm WHERE vm.project_id = $1 AND vm.id = t.vm_id) AS vm_name \
         FROM nic AS t WHERE t.project_id = $1 AND t.subnet_id = $2 ORDER BY t.id"
    ));
    c.fetch_all::<Nic>(sql, &[&project, &subnet]).await
}

/// Returns the addresses of the network interfaces of a virtual machine, sorted by subnet.
pub async fn addresses(
    c: &mut Connection<'_>,
    project: &ProjectId,
    vm: &VmId,
) -> Result<Vec<Address>, StorageError> {
    // Sorted here, and with an index for SQLite, which would read all interfaces of the project.
    macro_rules! sql {
        ($index:literal) => {
            concat!(
                "SELECT ",
                address_columns!(),
                ", (SELECT s.name FROM private_subnet AS s WHERE s.project_id = $1 AND s.id = t.subnet_id) \
                 AS subnet FROM nic AS t",
                $index,
                " WHERE t.project_id = $1 AND t.vm_id = $2"
            )
        };
    }
    let sql = statement! {
        sqlite: sql!(" INDEXED BY nic_by_vm"),
        postgres: sql!(""),
    };
    let mut found = c.fetch_all::<Address>(sql, &[&project, &vm]).await?;
    let key = |of: &Address| (of.subnet_id.to_string(), of.private_ipv4.to_string());
    found.sort_by_key(key);
    Ok(found)
}

/// Returns the names of the network interfaces of a subnet, of which its network has room for few.
pub async fn nic_names(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
) -> Result<Vec<Name>, StorageError> {
    let sql = statement!("SELECT name FROM nic WHERE project_id = $1 AND subnet_id = $2");
    let users = c.fetch_all::<User>(sql, &[&project, &subnet]).await?;
    Ok(users.into_iter().map(|user| user.name).collect())
}

/// Returns the names of the load balancers that use a subnet, any `most` of them if there are more.
pub async fn load_balancer_names(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
    most: i64,
) -> Result<Vec<Name>, StorageError> {
    macro_rules! sql {
        ($index:literal) => {
            concat!(
                "SELECT name FROM load_balancer",
                $index,
                " WHERE project_id = $1 AND subnet_id = $2 LIMIT CAST($3 AS BIGINT)"
            )
        };
    }
    // SQLite would read all load balancers of the project.
    let sql = statement! {
        sqlite: sql!(" INDEXED BY load_balancer_by_subnet"),
        postgres: sql!(""),
    };
    let users = c
        .fetch_all::<User>(sql, &[&project, &subnet, &most])
        .await?;
    Ok(users.into_iter().map(|user| user.name).collect())
}

/// Returns whether two subnets are connected to each other. Their order does not matter.
pub async fn is_linked(
    c: &mut Connection<'_>,
    project: &ProjectId,
    one: &PrivateSubnetId,
    other: &PrivateSubnetId,
) -> Result<bool, StorageError> {
    let sql = statement!(
        "SELECT low_id FROM private_subnet_link WHERE project_id = $1 AND low_id = $2 AND high_id = $3"
    );
    c.exists(sql, &[&project, &one.min(other), &one.max(other)])
        .await
}

record! {
    /// The number of connections of a subnet.
    struct Links in "private_subnet_link" {
        count: i64,
    }
}

/// Returns the number of subnets that a subnet is connected to. Of more than 200, it may return less.
pub async fn count_links(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
) -> Result<i64, StorageError> {
    // Earlier versions had no bound, so not all are counted.
    let sql = statement!(
        "SELECT (SELECT COUNT(*) FROM (SELECT high_id FROM private_subnet_link \
         WHERE project_id = $1 AND low_id = $2 LIMIT 100) AS higher) + \
         (SELECT COUNT(*) FROM (SELECT low_id FROM private_subnet_link \
         WHERE project_id = $1 AND high_id = $2 LIMIT 100) AS lower) AS count"
    );
    let found = c.fetch_optional::<Links>(sql, &[&project, &subnet]).await?;
    Ok(found.map_or(0, |links| links.count))
}

/// Inserts a private subnet without interfaces and links.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &ProjectId,
    new: &PrivateSubnet,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO private_subnet (project_id, id, location, name, net4, net6, state, is_declared) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    );
    c.insert(
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
    count::add(
        c,
        count::Kind::PrivateSubnet,
        (project, new.location.as_str(), new.id.as_str()),
        1,
    )
    .await
}

/// Marks a private subnet as declared by the operator in an inventory.
pub async fn declare(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PrivateSubnetId,
) -> Result<(), StorageError> {
    c.execute(
        "UPDATE private_subnet SET is_declared = TRUE WHERE project_id = $1 AND id = $2",
        &[&project, &id],
    )
    .await?;
    Ok(())
}

/// Connects two subnets, whose order does not matter: a link is one row, with the lower id first.
///
/// # Errors
///
/// [`StorageError::Conflict`] if the subnets are connected already.
pub async fn link(
    c: &mut Connection<'_>,
    project: &ProjectId,
    one: &PrivateSubnetId,
    other: &PrivateSubnetId,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO private_subnet_link (project_id, low_id, high_id) VALUES ($1, $2, $3)"
    );
    c.insert(sql, &[&project, &one.min(other), &one.max(other)])
        .await
}

/// Disconnects two subnets, whose order does not matter, if they are connected.
pub async fn unlink(
    c: &mut Connection<'_>,
    project: &ProjectId,
    one: &PrivateSubnetId,
    other: &PrivateSubnetId,
) -> Result<(), StorageError> {
    let sql = statement!(
        "DELETE FROM private_subnet_link WHERE project_id = $1 AND low_id = $2 AND high_id = $3"
    );
    c.execute(sql, &[&project, &one.min(other), &one.max(other)])
        .await?;
    Ok(())
}

/// Inserts a network interface. The name of its virtual machine is not written.
pub async fn insert_nic(
    c: &mut Connection<'_>,
    project: &ProjectId,
    nic: &Nic,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO nic (project_id, subnet_id, id, name, private_ipv4, private_ipv6, vm_id) \
               VALUES ($1, $2, $3, $4, $5, $6, $7)"
    );
    c.insert(
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
    .await
}

/// Deletes a network interface.
pub async fn delete_nic(
    c: &mut Connection<'_>,
    project: &ProjectId,
    nic: &Nic,
) -> Result<(), StorageError> {
    let sql = statement!("DELETE FROM nic WHERE project_id = $1 AND subnet_id = $2 AND id = $3");
    c.execute(sql, &[&project, &nic.subnet_id, &nic.id]).await?;
    Ok(())
}

/// Deletes a private subnet with its interfaces, its links, and its attachments to firewalls.
///
/// # Errors
///
/// [`StorageError::Conflict`] if a load balancer is in the subnet.
pub async fn delete(
    c: &mut Connection<'_>,
    project: &ProjectId,
    gone: &PrivateSubnet,
) -> Result<(), StorageError> {
    let id = &gone.id;
    c.execute(
        statement!("DELETE FROM nic WHERE project_id = $1 AND subnet_id = $2"),
        &[&project, &id],
    )
    .await?;
    // Two statements, each of which has an index.
    c.execute(
        statement!("DELETE FROM private_subnet_link WHERE project_id = $1 AND low_id = $2"),
        &[&project, &id],
    )
    .await?;
    c.execute(
        statement!("DELETE FROM private_subnet_link WHERE project_id = $1 AND high_id = $2"),
        &[&project, &id],
    )
    .await?;
    c.execute(
        statement!("DELETE FROM firewall_subnet WHERE project_id = $1 AND subnet_id = $2"),
        &[&project, &id],
    )
    .await?;
    let deleted = c
        .execute(
            statement!("DELETE FROM private_subnet WHERE project_id = $1 AND id = $2"),
            &[&project, &id],
        )
        .await?;
    // Of two changes that delete the same one at the same time, only one may count it.
    ensure_touched(deleted)?;
    count::add(
        c,
        count::Kind::PrivateSubnet,
        (project, gone.location.as_str(), id.as_str()),
        -1,
    )
    .await
}
