//! What keeps inventories apart.

use super::statement::Sql;
use super::{Connection, StorageError};

/// Waits until nobody else applies an inventory; the transaction's end frees it.
///
/// SQLite lets one transaction write at a time anyway.
pub async fn lock(c: &mut Connection<'_>) -> Result<(), StorageError> {
    // The number is of no meaning, but for being no other lock's.
    c.exists(
        Sql {
            sqlite: "SELECT 1",
            postgres: "SELECT pg_advisory_xact_lock(7597126)",
        },
        &[],
    )
    .await?;
    Ok(())
}
