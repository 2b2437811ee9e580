//! Locations and what they offer.

use diesel::QueryableByName;

use super::schema::location;
use super::{Connection, StorageError};

/// A location.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = location)]
pub struct Location {
    /// Its name, as paths have it.
    pub name: String,
    /// Whether Postgres databases can be created here.
    pub offers_postgres: bool,
}

/// All locations, by name.
pub async fn all(c: &mut Connection<'_>) -> Result<Vec<Location>, StorageError> {
    c.fetch_all::<Location>(
        "SELECT name, offers_postgres FROM location ORDER BY name",
        &[],
    )
    .await
}

/// Makes a location, or changes what it offers.
pub async fn put(c: &mut Connection<'_>, location: &Location) -> Result<(), StorageError> {
    let sql = "INSERT INTO location (name, offers_postgres) VALUES ($1, $2) \
               ON CONFLICT (name) DO UPDATE SET offers_postgres = excluded.offers_postgres";
    c.execute(sql, &[&location.name, &location.offers_postgres])
        .await?;
    Ok(())
}

/// Removes a location that nothing refers to.
pub async fn delete(c: &mut Connection<'_>, name: &str) -> Result<(), StorageError> {
    c.execute("DELETE FROM location WHERE name = $1", &[&name])
        .await?;
    Ok(())
}
