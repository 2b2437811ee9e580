//! State of the service itself, such as its certificate authority, by name.

use super::record::record;
use super::{Connection, StorageError};

record! {
    struct Value in "service_state" {
        value: Vec<u8>,
    }
}

/// Looks up a value.
pub async fn lookup(c: &mut Connection<'_>, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
    let found = c
        .fetch_optional::<Value>("SELECT value FROM service_state WHERE name = $1", &[&name])
        .await?;
    Ok(found.map(|found| found.value))
}

/// Inserts a value.
///
/// # Errors
///
/// A conflict if the name has a value.
pub async fn insert(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    c.execute(
        "INSERT INTO service_state (name, value) VALUES ($1, $2)",
        &[&name, &value],
    )
    .await?;
    Ok(())
}

/// Replaces a value.
pub async fn update(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    c.execute(
        "UPDATE service_state SET value = $2 WHERE name = $1",
        &[&name, &value],
    )
    .await?;
    Ok(())
}

/// Writes a value, whether the name has one or not.
pub async fn put(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    c.execute(
        "INSERT INTO service_state (name, value) VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        &[&name, &value],
    )
    .await?;
    Ok(())
}
