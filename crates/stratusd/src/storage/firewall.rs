//! Firewalls, their rules, and the private subnets that they guard.

use super::connection::{execute, fetch_all, fetch_optional, from_sqlite};
use super::{Connection, StorageError};

/// A firewall.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
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

from_sqlite!(Firewall { id, location, name, description, is_declared });

/// A rule of a firewall.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
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

from_sqlite!(Rule { firewall_id, id, cidr, port_range });

/// One of a location, by id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    place: (&str, &str),
    id: &str,
) -> Result<Option<Firewall>, StorageError> {
    let sql = "SELECT id, location, name, description, is_declared FROM firewall \
               WHERE project_id = $1 AND location = $2 AND id = $3";
    fetch_optional!(c, Firewall, sql, place.0, place.1, id)
}

/// One of a location, by name.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    place: (&str, &str),
    name: &str,
) -> Result<Option<Firewall>, StorageError> {
    let sql = "SELECT id, location, name, description, is_declared FROM firewall \
               WHERE project_id = $1 AND location = $2 AND name = $3";
    fetch_optional!(c, Firewall, sql, place.0, place.1, name)
}

/// All of a project.
pub async fn of_project(c: &mut Connection<'_>, project: &str) -> Result<Vec<Firewall>, StorageError> {
    let sql = "SELECT id, location, name, description, is_declared FROM firewall WHERE project_id = $1 ORDER BY location, name";
    fetch_all!(c, Firewall, sql, project)
}

/// Those that guard a subnet, by id.
pub async fn of_subnet(c: &mut Connection<'_>, project: &str, subnet: &str) -> Result<Vec<Firewall>, StorageError> {
    let sql = "SELECT f.id, f.location, f.name, f.description, f.is_declared FROM firewall_subnet AS attached JOIN firewall AS f \
               ON f.project_id = attached.project_id AND f.id = attached.firewall_id \
               WHERE attached.project_id = $1 AND attached.subnet_id = $2 ORDER BY f.id";
    fetch_all!(c, Firewall, sql, project, subnet)
}

/// The rules of a firewall, by id.
pub async fn rules(c: &mut Connection<'_>, project: &str, firewall: &str) -> Result<Vec<Rule>, StorageError> {
    let sql = "SELECT firewall_id, id, cidr, port_range FROM firewall_rule \
               WHERE project_id = $1 AND firewall_id = $2 ORDER BY id";
    fetch_all!(c, Rule, sql, project, firewall)
}

/// The rules of all firewalls of a subnet, by firewall and id.
pub async fn rules_of_subnet(c: &mut Connection<'_>, project: &str, subnet: &str) -> Result<Vec<Rule>, StorageError> {
    let sql = "SELECT r.firewall_id, r.id, r.cidr, r.port_range FROM firewall_subnet AS attached \
               JOIN firewall_rule AS r ON r.project_id = attached.project_id AND r.firewall_id = attached.firewall_id \
               WHERE attached.project_id = $1 AND attached.subnet_id = $2 ORDER BY r.firewall_id, r.id";
    fetch_all!(c, Rule, sql, project, subnet)
}

/// The ids of the subnets that a firewall guards, in order.
pub async fn subnets(c: &mut Connection<'_>, project: &str, firewall: &str) -> Result<Vec<String>, StorageError> {
    let sql = "SELECT subnet_id FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2 ORDER BY subnet_id";
    let rows: Vec<(String,)> = fetch_all!(c, (String,), sql, project, firewall)?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Makes a firewall without rules.
pub async fn insert(c: &mut Connection<'_>, project: &str, new: &Firewall) -> Result<(), StorageError> {
    let sql = "INSERT INTO firewall (project_id, id, location, name, description, is_declared) \
               VALUES ($1, $2, $3, $4, $5, $6)";
    execute!(c, sql, project, &new.id, &new.location, &new.name, &new.description, new.is_declared)?;
    Ok(())
}

/// Changes what a firewall says of itself, and makes it the operator's.
pub async fn declare(c: &mut Connection<'_>, project: &str, changed: &Firewall) -> Result<(), StorageError> {
    let sql = "UPDATE firewall SET description = $3, is_declared = TRUE WHERE project_id = $1 AND id = $2";
    execute!(c, sql, project, &changed.id, &changed.description)?;
    Ok(())
}

/// Adds a rule.
pub async fn insert_rule(c: &mut Connection<'_>, project: &str, rule: &Rule) -> Result<(), StorageError> {
    let sql = "INSERT INTO firewall_rule (project_id, firewall_id, id, cidr, port_range) VALUES ($1, $2, $3, $4, $5)";
    execute!(c, sql, project, &rule.firewall_id, &rule.id, &rule.cidr, &rule.port_range)?;
    Ok(())
}

/// Removes a rule.
pub async fn delete_rule(c: &mut Connection<'_>, project: &str, rule: &Rule) -> Result<(), StorageError> {
    let sql = "DELETE FROM firewall_rule WHERE project_id = $1 AND firewall_id = $2 AND id = $3";
    execute!(c, sql, project, &rule.firewall_id, &rule.id)?;
    Ok(())
}

/// Puts a firewall before a subnet; nothing happens if it is there.
pub async fn attach(c: &mut Connection<'_>, project: &str, firewall: &str, subnet: &str) -> Result<(), StorageError> {
    let sql = "INSERT INTO firewall_subnet (project_id, firewall_id, subnet_id) VALUES ($1, $2, $3) \
               ON CONFLICT (project_id, firewall_id, subnet_id) DO NOTHING";
    execute!(c, sql, project, firewall, subnet)?;
    Ok(())
}

/// Takes a firewall away from a subnet.
pub async fn detach(c: &mut Connection<'_>, project: &str, firewall: &str, subnet: &str) -> Result<(), StorageError> {
    let sql = "DELETE FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2 AND subnet_id = $3";
    execute!(c, sql, project, firewall, subnet)?;
    Ok(())
}

/// Removes a firewall with its rules.
pub async fn delete(c: &mut Connection<'_>, project: &str, id: &str) -> Result<(), StorageError> {
    execute!(c, "DELETE FROM firewall_subnet WHERE project_id = $1 AND firewall_id = $2", project, id)?;
    execute!(c, "DELETE FROM firewall_rule WHERE project_id = $1 AND firewall_id = $2", project, id)?;
    execute!(c, "DELETE FROM firewall WHERE project_id = $1 AND id = $2", project, id)?;
    Ok(())
}
