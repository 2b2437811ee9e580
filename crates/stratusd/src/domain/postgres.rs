//! Rules of Postgres databases.

/// Whether storage may shrink to a size: what is in use must stay under 80 % of it, in bytes and without rounding.
#[must_use]
pub fn fits(used_bytes: i64, gib: i64) -> bool {
    i128::from(used_bytes) * 10 < (i128::from(gib) << 30) * 8
}

/// What a sealed password belongs to: it opens nowhere else.
pub(crate) fn sealed_for(project: &str, id: &str) -> String {
    format!("postgres_database/{project}/{id}/password")
}
