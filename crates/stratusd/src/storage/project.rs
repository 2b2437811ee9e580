//! Projects.

use super::connection::{execute, fetch_all, fetch_optional, from_sqlite};
use super::{Connection, StorageError};

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Project {
    /// Its id.
    pub id: String,
    /// Its name, for the operator.
    pub name: String,
}

from_sqlite!(Project { id, name });

/// All projects, by name.
pub async fn all(c: &mut Connection<'_>) -> Result<Vec<Project>, StorageError> {
    fetch_all!(c, Project, "SELECT id, name FROM project ORDER BY name")
}

/// Makes a project. `now` is in milliseconds since 1970.
pub async fn insert(c: &mut Connection<'_>, project: &Project, now: i64) -> Result<(), StorageError> {
    let sql = "INSERT INTO project (id, name, created_at) VALUES ($1, $2, $3)";
    execute!(c, sql, &project.id, &project.name, now)?;
    Ok(())
}

/// Whether a project has Postgres databases.
pub async fn has_databases(c: &mut Connection<'_>, id: &str) -> Result<bool, StorageError> {
    let sql = "SELECT id FROM postgres_database WHERE project_id = $1 LIMIT 1";
    let found: Option<(String,)> = fetch_optional!(c, (String,), sql, id)?;
    Ok(found.is_some())
}

/// Removes a project with everything in it.
///
/// # Errors
///
/// A conflict if it has databases.
pub async fn delete(c: &mut Connection<'_>, id: &str) -> Result<(), StorageError> {
    // Whoever refers comes before what is referred to.
    execute!(c, "DELETE FROM load_balancer_vm WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM load_balancer WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM nic WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM firewall_subnet WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM firewall_rule WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM firewall WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM private_subnet_link WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM private_subnet WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM vm WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM inference_api_key WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM resource_count WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM token WHERE project_id = $1", id)?;
    execute!(c, "DELETE FROM project WHERE id = $1", id)?;
    Ok(())
}
