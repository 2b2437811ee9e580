//! The statements by which passwords are sealed again, by another key.

use api_types::{PostgresId, ProjectId};

use super::super::record::record;
use super::super::statement::statement;
use super::super::{Connection, StorageError};

record! {
    /// The sealed (encrypted) password of a database.
    pub struct Sealed in "postgres_database" {
        /// The id of the project.
        pub project_id: ProjectId,
        /// The id of the database.
        pub id: PostgresId,
        /// The sealed password.
        pub password: Vec<u8>,
    }
}

/// Returns at most `limit` sealed passwords of all projects, in the order of project id and
/// database id: those after the pair of ids `after`.
pub async fn sealed_after(
    c: &mut Connection<'_>,
    after: (&str, &str),
    limit: i64,
) -> Result<Vec<Sealed>, StorageError> {
    let sql = statement!(
        "SELECT project_id, id, password FROM postgres_database \
               WHERE (project_id, id) > ($1, $2) ORDER BY project_id, id LIMIT $3"
    );
    c.fetch_all::<Sealed>(sql, &[&after.0, &after.1, &limit])
        .await
}

/// Replaces the sealed form of a password. Does nothing if the stored one is no longer that of
/// `old`, because the password was changed since it was read.
pub async fn reseal(
    c: &mut Connection<'_>,
    old: &Sealed,
    password: &[u8],
) -> Result<(), StorageError> {
    let sql = statement!(
        "UPDATE postgres_database SET password = $4 WHERE project_id = $1 AND id = $2 AND password = $3"
    );
    c.execute(sql, &[&old.project_id, &old.id, &old.password, &password])
        .await?;
    Ok(())
}
