//! Firewalls, their rules, and their attachments to private subnets.

use api_types::{
    Cidr, Count, FirewallId, FirewallProtocol, FirewallRuleId, Location, Name, PortRange,
    PrivateSubnetId, ProjectId,
};

use super::page::{PageSql, fetch, page_sql};
use super::record::record;
use super::statement::{Parameter, attached, statement};
use super::{Connection, StorageError, count, ensure_touched};
use crate::domain::list::{Order, Page};

record! {
    /// A firewall.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Firewall in "firewall" {
        /// The id of the firewall.
        pub id: FirewallId,
        /// The location of the firewall.
        pub location: Location,
        /// The name of the firewall, unique in the project and location.
        pub name: Name,
        /// The description of the firewall.
        pub description: String,
        /// Whether the operator declared the firewall in an inventory.
        pub is_declared: bool,
    }
    columns firewall_columns;
}

record! {
    /// A rule of a firewall.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Rule in "firewall_rule" {
        /// The id of the firewall that the rule is of.
        pub firewall_id: FirewallId,
        /// The id of the rule.
        pub id: FirewallRuleId,
        /// The network whose addresses may connect, in CIDR notation.
        pub cidr: Cidr,
        /// The ports that addresses of the network may connect to.
        pub port_range: PortRange,
        /// The protocol of the connections.
        pub protocol: FirewallProtocol,
        /// The description of the rule.
        pub description: String,
        /// Whether the operator declared the rule in an inventory.
        pub is_declared: bool,
    }
    columns rule_columns;
}

record! {
    /// The id of a subnet that a firewall is attached to.
    struct GuardedId in "firewall_subnet" {
        subnet_id: PrivateSubnetId,
    }
}

record! {
    /// The name of a subnet that a firewall is attached to.
    struct GuardedName in "private_subnet" {
        name: Name,
    }
}

record! {
    /// The number of firewalls of a subnet.
    struct Guards in "firewall_subnet" {
        count: i64,
    }
}

/// Returns a page of the firewalls of a location, and the size of the whole list.
pub async fn page(
    c: &mut Connection<'_>,
    project: &ProjectId,
    location: &Location,
    page: &Page,
) -> Result<(Count, Vec<Firewall>), StorageError> {
    macro_rules! sql {
        ($column:literal, $index:literal) => {
            page_sql!(
                firewall_columns!(),
                of_location: "firewall",
                "firewall",
                by: $column,
                index: $index,
                bytes: "octet_length(t.description)"
            )
        };
    }
    let parameters: [&dyn Parameter; 4] = [&project, &page.after, &page.size, &location];
    match page.order {
        Order::Id => {
            fetch(
                c,
                sql!("id", " INDEXED BY firewall_of_location"),
                &parameters,
            )
            .await
        }
        Order::Name => fetch(c, sql!("name", ""), &parameters).await,
    }
}

/// Looks up a firewall of a project and location by its id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    id: &str,
) -> Result<Option<Firewall>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        firewall_columns!(),
        " FROM firewall AS t WHERE t.project_id = $1 AND t.location = $2 AND t.id = $3"
    ));
    c.fetch_optional::<Firewall>(sql, &[&project, &location, &id])
        .await
}

/// Looks up a firewall of a project and location by its name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    name: &str,
) -> Result<Option<Firewall>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        firewall_columns!(),
        " FROM firewall AS t WHERE t.project_id = $1 AND t.location = $2 AND t.name = $3"
    ));
    c.fetch_optional::<Firewall>(sql, &[&project, &location, &name])
        .await
}

/// Returns all firewalls of a project, sorted by location and name.
pub async fn of_project(
    c: &mut Connection<'_>,
    project: &ProjectId,
) -> Result<Vec<Firewall>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        firewall_columns!(),
        " FROM firewall AS t WHERE t.project_id = $1 ORDER BY t.location, t.name"
    ));
    c.fetch_all::<Firewall>(sql, &[&project]).await
}

/// Returns the firewalls that are attached to a subnet, sorted by id.
pub async fn of_subnet(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
) -> Result<Vec<Firewall>, StorageError> {
    let sql = attached!(
        firewall_columns!(),
        from: "firewall" by "id",
        in: "firewall_subnet" ("subnet_id", "firewall_id"),
        order: "attached.firewall_id"
    );
    c.fetch_all::<Firewall>(sql, &[&project, &subnet]).await
}

/// Returns the number of firewalls that are attached to a subnet, other than `firewall`.
pub async fn count_of_subnet(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
    firewall: &FirewallId,
) -> Result<i64, StorageError> {
    let sql = statement!(
        "SELECT COUNT(*) AS count FROM firewall_subnet \
         WHERE project_id = $1 AND subnet_id = $2 AND firewall_id <> $3"
    );
    let found = c
        .fetch_optional::<Guards>(sql, &[&project, &subnet, &firewall])
        .await?;
    Ok(found.map_or(0, |guards| guards.count))
}

/// Returns the rules of a firewall, sorted by id.
pub async fn rules(
    c: &mut Connection<'_>,
    project: &ProjectId,
    firewall: &FirewallId,
) -> Result<Vec<Rule>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        rule_columns!(),
        " FROM firewall_rule AS t WHERE t.project_id = $1 AND t.firewall_id = $2 ORDER BY t.id"
    ));
    c.fetch_all::<Rule>(sql, &[&project, &firewall]).await
}

/// Returns the rules of all firewalls that are attached to a subnet, sorted by the id of the
/// firewall and the id of the rule.
pub async fn rules_of_subnet(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
) -> Result<Vec<Rule>, StorageError> {
    let sql = attached!(
        rule_columns!(),
        from: "firewall_rule" by "firewall_id",
        in: "firewall_subnet" ("subnet_id", "firewall_id"),
        order: "attached.firewall_id, t.id"
    );
    c.fetch_all::<Rule>(sql, &[&project, &subnet]).await
}

/// Returns the ids of the subnets that a firewall is attached to, sorted.
pub async fn subnets(
    c: &mut Connection<'_>,
    project: &ProjectId,
    firewall: &FirewallId,
) -> Result<Vec<PrivateSubnetId>, StorageError> {
    let sql = statement!(
        "SELECT subnet_id FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2 ORDER BY subnet_id"
    );
    let guarded = c
        .fetch_all::<GuardedId>(sql, &[&project, &firewall])
        .await?;
    Ok(guarded
        .into_iter()
        .map(|guarded| guarded.subnet_id)
        .collect())
}

/// Returns the names of the subnets that a firewall is attached to, sorted.
pub async fn names_of_subnets(
    c: &mut Connection<'_>,
    project: &ProjectId,
    firewall: &FirewallId,
) -> Result<Vec<Name>, StorageError> {
    let sql = attached!(
        "t.name",
        from: "private_subnet" by "id",
        in: "firewall_subnet" ("firewall_id", "subnet_id"),
        order: "t.name"
    );
    let guarded = c
        .fetch_all::<GuardedName>(sql, &[&project, &firewall])
        .await?;
    Ok(guarded.into_iter().map(|guarded| guarded.name).collect())
}

/// Inserts a firewall without rules.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &ProjectId,
    new: &Firewall,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO firewall (project_id, id, location, name, description, is_declared) \
               VALUES ($1, $2, $3, $4, $5, $6)"
    );
    c.insert(
        sql,
        &[
            &project,
            &new.id,
            &new.location,
            &new.name,
            &new.description,
            &new.is_declared,
        ],
    )
    .await?;
    count::add(
        c,
        count::Kind::Firewall,
        (project, new.location.as_str(), new.id.as_str()),
        1,
    )
    .await
}

/// Writes the description of `changed`, and marks the firewall as declared by the operator in an
/// inventory.
pub async fn declare(
    c: &mut Connection<'_>,
    project: &ProjectId,
    changed: &Firewall,
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE firewall SET description = $3, is_declared = TRUE WHERE project_id = $1 AND id = $2"
    );
    c.execute(sql, &[&project, &changed.id, &changed.description])
        .await?;
    Ok(())
}

/// Marks all rules of a firewall as declared by the operator in an inventory.
pub async fn declare_rules(
    c: &mut Connection<'_>,
    project: &ProjectId,
    firewall: &FirewallId,
) -> Result<(), StorageError> {
    c.execute(
        "UPDATE firewall_rule SET is_declared = TRUE WHERE project_id = $1 AND firewall_id = $2",
        &[&project, &firewall],
    )
    .await?;
    Ok(())
}

/// Inserts a rule of a firewall.
pub async fn insert_rule(
    c: &mut Connection<'_>,
    project: &ProjectId,
    rule: &Rule,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO firewall_rule (project_id, firewall_id, id, cidr, port_range, protocol, description, \
         is_declared) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    );
    c.insert(
        sql,
        &[
            &project,
            &rule.firewall_id,
            &rule.id,
            &rule.cidr,
            &rule.port_range,
            &rule.protocol,
            &rule.description,
            &rule.is_declared,
        ],
    )
    .await
}

/// Deletes a rule of a firewall, if it exists.
pub async fn delete_rule(
    c: &mut Connection<'_>,
    project: &ProjectId,
    firewall: &FirewallId,
    rule: &FirewallRuleId,
) -> Result<(), StorageError> {
    let sql = statement!(
        "DELETE FROM firewall_rule WHERE project_id = $1 AND firewall_id = $2 AND id = $3"
    );
    c.execute(sql, &[&project, &firewall, &rule]).await?;
    Ok(())
}

/// Attaches a firewall to a subnet, unless it is attached already.
pub async fn attach(
    c: &mut Connection<'_>,
    project: &ProjectId,
    firewall: &FirewallId,
    subnet: &PrivateSubnetId,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO firewall_subnet (project_id, firewall_id, subnet_id) VALUES ($1, $2, $3) \
               ON CONFLICT (project_id, firewall_id, subnet_id) DO NOTHING"
    );
    c.execute(sql, &[&project, &firewall, &subnet]).await?;
    Ok(())
}

/// Detaches a firewall from a subnet, if it is attached.
pub async fn detach(
    c: &mut Connection<'_>,
    project: &ProjectId,
    firewall: &FirewallId,
    subnet: &PrivateSubnetId,
) -> Result<(), StorageError> {
    let sql = statement!(
        "DELETE FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2 AND subnet_id = $3"
    );
    c.execute(sql, &[&project, &firewall, &subnet]).await?;
    Ok(())
}

/// Deletes a firewall with its rules and its attachments to subnets.
pub async fn delete(
    c: &mut Connection<'_>,
    project: &ProjectId,
    gone: &Firewall,
) -> Result<(), StorageError> {
    let id = &gone.id;
    c.execute(
        statement!("DELETE FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2"),
        &[&project, &id],
    )
    .await?;
    c.execute(
        statement!("DELETE FROM firewall_rule WHERE project_id = $1 AND firewall_id = $2"),
        &[&project, &id],
    )
    .await?;
    let deleted = c
        .execute(
            statement!("DELETE FROM firewall WHERE project_id = $1 AND id = $2"),
            &[&project, &id],
        )
        .await?;
    // Of two changes that delete the same one at the same time, only one may count it.
    ensure_touched(deleted)?;
    count::add(
        c,
        count::Kind::Firewall,
        (project, gone.location.as_str(), id.as_str()),
        -1,
    )
    .await
}
