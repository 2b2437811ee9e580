//! What the service itself must remember.

use super::connection::{execute, fetch_optional};
use super::{Connection, StorageError};

/// A value by its name.
pub async fn lookup(c: &mut Connection<'_>, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
    let found: Option<(Vec<u8>,)> =
        fetch_optional!(c, (Vec<u8>,), "SELECT value FROM service_state WHERE name = $1", name)?;
    Ok(found.map(|(value,)| value))
}

/// Keeps a value.
pub async fn put(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    let sql = "INSERT INTO service_state (name, value) VALUES ($1, $2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    execute!(c, sql, name, value)?;
    Ok(())
}
