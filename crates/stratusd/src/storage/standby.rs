//! Synchronous standbys: servers that must have a change before it is acknowledged.

use super::record::Present;
use super::statement::statement;
use super::{Connection, StorageError};

/// Makes the commit of this transaction wait for the synchronous standbys, if there are any, although
/// the transaction has written nothing. Does nothing on SQLite.
///
/// PostgreSQL keeps a transaction whose commit is cancelled while it waits for the standbys: others see
/// it, although a standby may not have it. A transaction that only reads waits for no standby. So this
/// writes a message of a few bytes into the log, which is in no table; the standbys that have it have
/// everything before it.
pub async fn confirm(c: &mut Connection<'_>) -> Result<(), StorageError> {
    if c.is_postgres() {
        let sql = statement!(
            "SELECT CASE WHEN current_setting('synchronous_standby_names') <> '' \
             THEN pg_logical_emit_message(TRUE, 'stratus', '') END"
        );
        c.fetch_optional::<Present>(sql, &[]).await?;
    }
    Ok(())
}
