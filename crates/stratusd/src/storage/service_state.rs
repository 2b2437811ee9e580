//! State of the service itself, such as its certificate authority: values that are found by name.

use super::record::record;
use super::{Connection, StorageError};

record! {
    struct Value in "service_state" {
        value: Vec<u8>,
    }
}

/// Looks up the value with a name.
pub async fn lookup(c: &mut Connection<'_>, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
    let found = c
        .fetch_optional::<Value>("SELECT value FROM service_state WHERE name = $1", &[&name])
        .await?;
    Ok(found.map(|found| found.value))
}

/// Inserts a value with a name.
///
/// # Errors
///
/// [`StorageError::Conflict`] if there is a value with this name already.
pub async fn insert(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    c.execute(
        "INSERT INTO service_state (name, value) VALUES ($1, $2)",
        &[&name, &value],
    )
    .await?;
    Ok(())
}

/// Replaces the value with a name. Does nothing if there is none.
pub async fn update(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    c.execute(
        "UPDATE service_state SET value = $2 WHERE name = $1",
        &[&name, &value],
    )
    .await?;
    Ok(())
}

/// Inserts the value with a name, or replaces it if there is one.
pub async fn put(c: &mut Connection<'_>, name: &str, value: &[u8]) -> Result<(), StorageError> {
    c.execute(
        "INSERT INTO service_state (name, value) VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        &[&name, &value],
    )
    .await?;
    Ok(())
}
