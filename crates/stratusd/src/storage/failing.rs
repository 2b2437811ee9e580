//! The databases whose last step has failed, for operators.

use api_types::{Location, Name, PostgresId, PostgresState, ProjectId};

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};

record! {
    /// A database whose last step has failed.
    #[derive(Debug, Clone)]
    pub struct Failing in "postgres_database" {
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
        /// Why the last one has, or `None` if an earlier version of the program has written the row.
        pub failure: Option<String>,
    }
    columns failing_columns;
}

/// Returns up to `limit` databases whose last step has failed, those first that are tried again next.
pub async fn failing(c: &mut Connection<'_>, limit: i64) -> Result<Vec<Failing>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        failing_columns!(),
        " FROM postgres_database AS t WHERE t.due_at IS NOT NULL AND t.attempts > 0 \
         ORDER BY t.due_at LIMIT CAST($1 AS BIGINT)"
    ));
    c.fetch_all(sql, &[&limit]).await
}
