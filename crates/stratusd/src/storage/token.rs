//! Access tokens. Of the secret, only a hash is stored.

use api_types::ProjectId;

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};

record! {
    /// A token. Times are in milliseconds since 1970.
    #[derive(Debug, Clone)]
    pub struct Token in "token" {
        /// The id, the middle part of what callers send.
        pub id: String,
        /// The only project that the token gives access to.
        pub project_id: ProjectId,
        /// SHA-256 of the whole token.
        pub hash: Vec<u8>,
        /// Whether the token allows no changes.
        pub read_only: bool,
        /// The operator's description.
        pub description: String,
        /// When the token was issued.
        pub created_at: i64,
        /// When the token expires.
        pub expires_at: Option<i64>,
        /// When the token was revoked.
        pub revoked_at: Option<i64>,
    }
    columns token_columns;
}

record! {
    struct Owner in "token" {
        project_id: ProjectId,
    }
}

/// Looks up a token by its id.
pub async fn lookup(c: &mut Connection<'_>, id: &str) -> Result<Option<Token>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        token_columns!(),
        " FROM token AS t WHERE t.id = $1"
    ));
    c.fetch_optional::<Token>(sql, &[&id]).await
}

/// Returns the tokens of a project, oldest first.
pub async fn of_project(
    c: &mut Connection<'_>,
    project: &ProjectId,
) -> Result<Vec<Token>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        token_columns!(),
        " FROM token AS t WHERE t.project_id = $1 ORDER BY t.created_at, t.id"
    ));
    c.fetch_all::<Token>(sql, &[&project]).await
}

/// Inserts a token.
pub async fn insert(c: &mut Connection<'_>, token: &Token) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO token (id, project_id, hash, read_only, description, created_at, expires_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7)"
    );
    c.execute(
        sql,
        &[
            &token.id,
            &token.project_id,
            &token.hash,
            &token.read_only,
            &token.description,
            &token.created_at,
            &token.expires_at,
        ],
    )
    .await?;
    Ok(())
}

/// Revokes a token, and returns its project. Returns `None` if there is no such token, or it was
/// revoked before.
pub async fn revoke(
    c: &mut Connection<'_>,
    id: &str,
    now: i64,
) -> Result<Option<ProjectId>, StorageError> {
    let sql = statement!(
        "UPDATE token SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING project_id"
    );
    let revoked: Vec<Owner> = c.fetch_changed(sql, &[&id, &now]).await?;
    Ok(revoked.into_iter().next().map(|owner| owner.project_id))
}
