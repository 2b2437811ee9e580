//! Locations and what they offer.

use super::connection::{execute, fetch_all, from_sqlite};
use super::{Connection, StorageError};

/// A location.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Location {
    /// Its name, as paths have it.
    pub name: String,
    /// Whether Postgres databases can be created here.
    pub offers_postgres: bool,
}

from_sqlite!(Location { name, offers_postgres });

/// All locations, by name.
pub async fn all(c: &mut Connection<'_>) -> Result<Vec<Location>, StorageError> {
    fetch_all!(c, Location, "SELECT name, offers_postgres FROM location ORDER BY name")
}

/// Makes a location, or changes what it offers.
pub async fn put(c: &mut Connection<'_>, location: &Location) -> Result<(), StorageError> {
    let sql = "INSERT INTO location (name, offers_postgres) VALUES ($1, $2) \
               ON CONFLICT (name) DO UPDATE SET offers_postgres = excluded.offers_postgres";
    execute!(c, sql, &location.name, location.offers_postgres)?;
    Ok(())
}

/// Removes a location that nothing refers to.
pub async fn delete(c: &mut Connection<'_>, name: &str) -> Result<(), StorageError> {
    execute!(c, "DELETE FROM location WHERE name = $1", name)?;
    Ok(())
}
