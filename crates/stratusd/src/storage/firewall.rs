//! Firewalls, their rules, and the private subnets that they guard.

use diesel::QueryableByName;

use super::schema::{firewall, firewall_rule, firewall_subnet, private_subnet};
use super::{Connection, StorageError};

/// A firewall.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = firewall)]
pub struct Firewall {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub location: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether the operator has declared it.
    pub is_declared: bool,
}

/// A rule of a firewall.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = firewall_rule)]
pub struct Rule {
    /// The firewall's id.
    pub firewall_id: String,
    /// Its id.
    pub id: String,
    /// Whom it lets in.
    pub cidr: String,
    /// Where to.
    pub port_range: String,
}

/// A subnet that a firewall guards.
#[derive(QueryableByName)]
#[diesel(table_name = firewall_subnet)]
struct Guarded {
    subnet_id: String,
}

/// The name of such a subnet.
#[derive(QueryableByName)]
#[diesel(table_name = private_subnet)]
struct Named {
    name: String,
}

/// One of a location, by id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    place: (&str, &str),
    id: &str,
) -> Result<Option<Firewall>, StorageError> {
    let sql = "SELECT id, location, name, description, is_declared FROM firewall \
               WHERE project_id = $1 AND location = $2 AND id = $3";
    c.fetch_optional::<Firewall>(sql, &[&place.0, &place.1, &id])
        .await
}

/// One of a location, by name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    place: (&str, &str),
    name: &str,
) -> Result<Option<Firewall>, StorageError> {
    let sql = "SELECT id, location, name, description, is_declared FROM firewall \
               WHERE project_id = $1 AND location = $2 AND name = $3";
    c.fetch_optional::<Firewall>(sql, &[&place.0, &place.1, &name])
        .await
}

/// All of a project.
pub async fn of_project(
    c: &mut Connection<'_>,
    project: &str,
) -> Result<Vec<Firewall>, StorageError> {
    let sql = "SELECT id, location, name, description, is_declared FROM firewall WHERE project_id = $1 ORDER BY location, name";
    c.fetch_all::<Firewall>(sql, &[&project]).await
}

/// Those that guard a subnet, by id.
pub async fn of_subnet(
    c: &mut Connection<'_>,
    project: &str,
    subnet: &str,
) -> Result<Vec<Firewall>, StorageError> {
    let sql = "SELECT f.id, f.location, f.name, f.description, f.is_declared FROM firewall_subnet AS attached JOIN firewall AS f \
               ON f.project_id = attached.project_id AND f.id = attached.firewall_id \
               WHERE attached.project_id = $1 AND attached.subnet_id = $2 ORDER BY f.id";
    c.fetch_all::<Firewall>(sql, &[&project, &subnet]).await
}

/// The rules of a firewall, by id.
pub async fn rules(
    c: &mut Connection<'_>,
    project: &str,
    firewall: &str,
) -> Result<Vec<Rule>, StorageError> {
    let sql = "SELECT firewall_id, id, cidr, port_range FROM firewall_rule \
               WHERE project_id = $1 AND firewall_id = $2 ORDER BY id";
    c.fetch_all::<Rule>(sql, &[&project, &firewall]).await
}

/// The rules of all firewalls of a subnet, by firewall and id.
pub async fn rules_of_subnet(
    c: &mut Connection<'_>,
    project: &str,
    subnet: &str,
) -> Result<Vec<Rule>, StorageError> {
    let sql = "SELECT r.firewall_id, r.id, r.cidr, r.port_range FROM firewall_subnet AS attached \
               JOIN firewall_rule AS r ON r.project_id = attached.project_id AND r.firewall_id = attached.firewall_id \
               WHERE attached.project_id = $1 AND attached.subnet_id = $2 ORDER BY r.firewall_id, r.id";
    c.fetch_all::<Rule>(sql, &[&project, &subnet]).await
}

/// The ids of the subnets that a firewall guards, in order.
pub async fn subnets(
    c: &mut Connection<'_>,
    project: &str,
    firewall: &str,
) -> Result<Vec<String>, StorageError> {
    let sql = "SELECT subnet_id FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2 ORDER BY subnet_id";
    let guarded = c.fetch_all::<Guarded>(sql, &[&project, &firewall]).await?;
    Ok(guarded
        .into_iter()
        .map(|guarded| guarded.subnet_id)
        .collect())
}

/// The names of the subnets that a firewall guards, in order.
pub async fn names_of_subnets(
    c: &mut Connection<'_>,
    project: &str,
    firewall: &str,
) -> Result<Vec<String>, StorageError> {
    let sql = "SELECT s.name FROM firewall_subnet AS attached JOIN private_subnet AS s \
               ON s.project_id = attached.project_id AND s.id = attached.subnet_id \
               WHERE attached.project_id = $1 AND attached.firewall_id = $2 ORDER BY s.name";
    let guarded = c.fetch_all::<Named>(sql, &[&project, &firewall]).await?;
    Ok(guarded.into_iter().map(|guarded| guarded.name).collect())
}

/// Makes a firewall without rules.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &str,
    new: &Firewall,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO firewall (project_id, id, location, name, description, is_declared) \
               VALUES ($1, $2, $3, $4, $5, $6)";
    c.execute(
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
    Ok(())
}

/// Changes what a firewall says of itself, and makes it the operator's.
pub async fn declare(
    c: &mut Connection<'_>,
    project: &str,
    changed: &Firewall,
) -> Result<(), StorageError> {
    let sql = "UPDATE firewall SET description = $3, is_declared = TRUE WHERE project_id = $1 AND id = $2";
    c.execute(sql, &[&project, &changed.id, &changed.description])
        .await?;
    Ok(())
}

/// Adds a rule.
pub async fn insert_rule(
    c: &mut Connection<'_>,
    project: &str,
    rule: &Rule,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO firewall_rule (project_id, firewall_id, id, cidr, port_range) VALUES ($1, $2, $3, $4, $5)";
    c.execute(
        sql,
        &[
            &project,
            &rule.firewall_id,
            &rule.id,
            &rule.cidr,
            &rule.port_range,
        ],
    )
    .await?;
    Ok(())
}

/// Removes a rule.
pub async fn delete_rule(
    c: &mut Connection<'_>,
    project: &str,
    rule: &Rule,
) -> Result<(), StorageError> {
    let sql = "DELETE FROM firewall_rule WHERE project_id = $1 AND firewall_id = $2 AND id = $3";
    c.execute(sql, &[&project, &rule.firewall_id, &rule.id])
        .await?;
    Ok(())
}

/// Puts a firewall before a subnet; nothing happens if it is there.
pub async fn attach(
    c: &mut Connection<'_>,
    project: &str,
    firewall: &str,
    subnet: &str,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO firewall_subnet (project_id, firewall_id, subnet_id) VALUES ($1, $2, $3) \
               ON CONFLICT (project_id, firewall_id, subnet_id) DO NOTHING";
    c.execute(sql, &[&project, &firewall, &subnet]).await?;
    Ok(())
}

/// Takes a firewall away from a subnet.
pub async fn detach(
    c: &mut Connection<'_>,
    project: &str,
    firewall: &str,
    subnet: &str,
) -> Result<(), StorageError> {
    let sql =
        "DELETE FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2 AND subnet_id = $3";
    c.execute(sql, &[&project, &firewall, &subnet]).await?;
    Ok(())
}

/// Removes a firewall with its rules.
pub async fn delete(c: &mut Connection<'_>, project: &str, id: &str) -> Result<(), StorageError> {
    c.execute(
        "DELETE FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2",
        &[&project, &id],
    )
    .await?;
    c.execute(
        "DELETE FROM firewall_rule WHERE project_id = $1 AND firewall_id = $2",
        &[&project, &id],
    )
    .await?;
    c.execute(
        "DELETE FROM firewall WHERE project_id = $1 AND id = $2",
        &[&project, &id],
    )
    .await?;
    Ok(())
}
