//! Rules of Postgres databases.

use api_types::{PostgresId, ProjectId};

/// Returns whether storage may shrink to a size: what is in use must stay under 80 % of it, in
/// bytes and without rounding.
#[must_use]
pub fn fits(used_bytes: i64, gib: i64) -> bool {
    i128::from(used_bytes) * 10 < (i128::from(gib) << 30) * 8
}

/// Returns what the password of a database is sealed for, so that it opens in no other row.
pub(crate) fn sealed_for(project: &ProjectId, id: &PostgresId) -> String {
    format!("postgres_database/{project}/{id}/password")
}
