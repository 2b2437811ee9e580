//! Projects, which own all resources.

use api_types::{Name, ProjectId};

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};

record! {
    /// A project.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Project in "project" {
        /// The id of the project.
        pub id: ProjectId,
        /// The name by which the operator refers to the project, unique among all projects.
        pub name: Name,
    }
    columns project_columns;
}

/// Returns all projects, sorted by name.
pub async fn all(c: &mut Connection<'_>) -> Result<Vec<Project>, StorageError> {
    let sql = concat!(
        "SELECT ",
        project_columns!(),
        " FROM project AS t ORDER BY t.name"
    );
    c.fetch_all::<Project>(sql, &[]).await
}

/// Inserts a project. `now` is the time of its creation, in milliseconds since 1970.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &Project,
    now: i64,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO project (id, name, created_at) VALUES ($1, $2, $3)";
    c.execute(sql, &[&project.id, &project.name, &now]).await?;
    Ok(())
}

/// Returns whether a project has Postgres databases.
pub async fn has_databases(c: &mut Connection<'_>, id: &ProjectId) -> Result<bool, StorageError> {
    let sql = "SELECT id FROM postgres_database WHERE project_id = $1 LIMIT 1";
    c.exists(sql, &[&id]).await
}

/// Deletes a project with everything in it except Postgres databases, which must not exist.
///
/// # Errors
///
/// [`StorageError::Conflict`] if the project has Postgres databases.
pub async fn delete(c: &mut Connection<'_>, id: &ProjectId) -> Result<(), StorageError> {
    // Before what refers to it, so that callers create nothing in it meanwhile.
    let lock = statement! {
        sqlite: "SELECT id FROM project WHERE id = $1",
        postgres: "SELECT id FROM project WHERE id = $1 FOR UPDATE",
    };
    c.exists(lock, &[&id]).await?;
    // Delete referencing rows first. The foreign keys do not cascade, so that no other statement
    // deletes by accident.
    c.execute("DELETE FROM load_balancer_vm WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM load_balancer WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM nic WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM firewall_subnet WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM firewall_rule WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM firewall WHERE project_id = $1", &[&id])
        .await?;
    c.execute(
        "DELETE FROM private_subnet_link WHERE project_id = $1",
        &[&id],
    )
    .await?;
    c.execute("DELETE FROM private_subnet WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM vm WHERE project_id = $1", &[&id])
        .await?;
    c.execute(
        "DELETE FROM inference_api_key WHERE project_id = $1",
        &[&id],
    )
    .await?;
    c.execute("DELETE FROM idempotency WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM resource_count WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM project_quota WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM token WHERE project_id = $1", &[&id])
        .await?;
    c.execute("DELETE FROM project WHERE id = $1", &[&id])
        .await?;
    Ok(())
}
