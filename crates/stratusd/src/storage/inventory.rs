//! The lock of `stratusd apply`.

use super::statement::statement;
use super::{Connection, StorageError};

/// Waits until no other process applies an inventory. The lock ends with the transaction.
///
/// SQLite needs no lock: it runs one writing transaction at a time.
pub async fn lock(c: &mut Connection<'_>) -> Result<(), StorageError> {
    // The number means nothing; it must differ from that of the migrations' lock.
    c.exists(
        statement! {
            sqlite: "SELECT 1",
            postgres: "SELECT pg_advisory_xact_lock(7597126)",
        },
        &[],
    )
    .await?;
    Ok(())
}
