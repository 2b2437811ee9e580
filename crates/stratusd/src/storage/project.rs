//! Projects.

use super::connection::{execute, fetch_all};
use super::{Connection, StorageError};

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Project {
    /// Its id.
    pub id: String,
    /// Its name, for the operator.
    pub name: String,
}

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
