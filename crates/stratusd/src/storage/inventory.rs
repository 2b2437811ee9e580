//! The lock that lets one process at a time apply an inventory (`stratusd apply`).

use super::statement::statement;
use super::{Connection, StorageError};

/// Takes the lock for applying an inventory, and waits while another process has it. The lock is
/// released when the transaction ends.
///
/// On SQLite this does nothing: only one transaction at a time can write.
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
