//! The databases that operators look at: those whose last step has failed, and those whose storage is
//! nearly full.

use api_types::{Location, Name, PostgresId, PostgresState, ProjectId, StorageSizeGib};

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};
use crate::domain::postgres::NEARLY_FULL;

record! {
    /// A database that an operator looks at.
    #[derive(Debug, Clone)]
    pub struct Troubled in "postgres_database" {
        /// The project's id.
        pub project_id: ProjectId,
        /// The id of the database.
        pub id: PostgresId,
        /// The location of the database.
        pub location: Location,
        /// The name of the database.
        pub name: Name,
        /// The state of the database.
        pub state: PostgresState,
        /// The number of steps that have failed since the last success.
        pub attempts: i64,
        /// Why the last one has, or `None` if none has, or if an earlier version of the program has
        /// written the row.
        pub failure: Option<String>,
        /// The size of the data in bytes.
        pub used_bytes: i64,
        /// The storage in GiB.
        pub storage_size_gib: StorageSizeGib,
    }
    columns troubled_columns;
}

/// Returns up to `limit` databases whose last step has failed, those first that are tried again next.
pub async fn failing(c: &mut Connection<'_>, limit: i64) -> Result<Vec<Troubled>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        troubled_columns!(),
        " FROM postgres_database AS t WHERE t.due_at IS NOT NULL AND t.attempts > 0 \
         ORDER BY t.due_at LIMIT CAST($1 AS BIGINT)"
    ));
    c.fetch_all(sql, &[&limit]).await
}

/// Returns up to `limit` databases whose storage is nearly full, and whose last step has not failed.
/// Reads all databases, so no request may run it.
pub async fn nearly_full(
    c: &mut Connection<'_>,
    limit: i64,
) -> Result<Vec<Troubled>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        troubled_columns!(),
        " FROM postgres_database AS t WHERE t.attempts = 0 \
         AND t.used_bytes >= CAST(t.storage_size_gib AS BIGINT) * 1073741824 / 100 * CAST($1 AS BIGINT) \
         ORDER BY t.project_id, t.id LIMIT CAST($2 AS BIGINT)"
    ));
    c.fetch_all(sql, &[&i64::from(NEARLY_FULL), &limit]).await
}
