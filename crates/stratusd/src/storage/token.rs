//! Access tokens: what is left of them once they were shown.

use diesel::QueryableByName;

use super::schema::token;
use super::{Connection, StorageError};

/// A token. Times are in milliseconds since 1970.
#[derive(Debug, Clone, QueryableByName)]
#[diesel(table_name = token)]
pub struct Token {
    /// Its id, the middle part of what callers send.
    pub id: String,
    /// The only project that it opens.
    pub project_id: String,
    /// SHA-256 of the whole token.
    pub hash: Vec<u8>,
    /// Whether it refuses changes.
    pub read_only: bool,
    /// What the operator noted.
    pub description: String,
    /// When it was issued.
    pub created_at: i64,
    /// When it stops.
    pub expires_at: Option<i64>,
    /// When it was stopped.
    pub revoked_at: Option<i64>,
}

/// A token by its id.
pub async fn lookup(c: &mut Connection<'_>, id: &str) -> Result<Option<Token>, StorageError> {
    let sql = "SELECT id, project_id, hash, read_only, description, created_at, expires_at, revoked_at \
               FROM token WHERE id = $1";
    c.fetch_optional::<Token>(sql, &[&id]).await
}

/// The tokens of a project, oldest first.
pub async fn of_project(c: &mut Connection<'_>, project: &str) -> Result<Vec<Token>, StorageError> {
    let sql = "SELECT id, project_id, hash, read_only, description, created_at, expires_at, revoked_at \
               FROM token WHERE project_id = $1 ORDER BY created_at, id";
    c.fetch_all::<Token>(sql, &[&project]).await
}

/// Keeps a new token.
pub async fn insert(c: &mut Connection<'_>, token: &Token) -> Result<(), StorageError> {
    let sql = "INSERT INTO token (id, project_id, hash, read_only, description, created_at, expires_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
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

/// Stops a token; tells whether it was still good.
pub async fn revoke(c: &mut Connection<'_>, id: &str, now: i64) -> Result<bool, StorageError> {
    let sql = "UPDATE token SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
    Ok(c.execute(sql, &[&id, &now]).await? > 0)
}
