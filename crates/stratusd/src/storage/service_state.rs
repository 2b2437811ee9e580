//! What the service itself must remember.

use super::connection::{execute, fetch_optional};
use super::{Connection, StorageError};

/// A value by its name.
pub async fn lookup(c: &mut Connection<'_>, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
    let found: Option<(Vec<u8>,)> =
        fetch_optional!(c, (Vec<u8>,), "SELECT value FROM service_state WHERE name = $1", name)?;
    Ok(found.map(|(value,)| value))
}

/// Keeps a value under a name that has none.
pub async fn insert(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    execute!(c, "INSERT INTO service_state (name, value) VALUES ($1, $2)", name, value)?;
    Ok(())
}

/// Replaces a value.
pub async fn update(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    execute!(c, "UPDATE service_state SET value = $2 WHERE name = $1", name, value)?;
    Ok(())
}
