//! Rules of Postgres databases.

use api_types::{PostgresId, ProjectId};

/// Returns whether the storage of a database may shrink to `gib` GiB: the space in use must be less
/// than 80 % of it, in bytes and without rounding.
#[must_use]
pub fn fits(used_bytes: i64, gib: i64) -> bool {
    i128::from(used_bytes) * 10 < (i128::from(gib) << 30) * 8
}

/// Returns the `owner` argument of [`Sealer::seal`](crate::seal::Sealer::seal) for the password of
/// a database. It identifies the database, so the sealed password cannot be opened in another row.
pub(crate) fn sealed_for(project: &ProjectId, id: &PostgresId) -> String {
    format!("postgres_database/{project}/{id}/password")
}
