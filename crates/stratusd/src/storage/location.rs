//! Locations and what they offer.

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};

record! {
    /// A location and what it offers.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Location in "location" {
        /// The name of the location, which URL paths contain.
        pub name: api_types::Location,
        /// Whether Postgres databases can be created in the location.
        pub offers_postgres: bool,
    }
    columns location_columns;
}

/// Returns all locations, sorted by name.
pub async fn all(c: &mut Connection<'_>) -> Result<Vec<Location>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        location_columns!(),
        " FROM location AS t ORDER BY t.name"
    ));
    c.fetch_all::<Location>(sql, &[]).await
}

/// Inserts a location, or updates what it offers.
pub async fn put(c: &mut Connection<'_>, location: &Location) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO location (name, offers_postgres) VALUES ($1, $2) \
               ON CONFLICT (name) DO UPDATE SET offers_postgres = excluded.offers_postgres"
    );
    c.execute(sql, &[&location.name, &location.offers_postgres])
        .await?;
    Ok(())
}

/// Deletes a location.
///
/// # Errors
///
/// [`StorageError::Conflict`] if a resource is in the location.
pub async fn delete(
    c: &mut Connection<'_>,
    name: &api_types::Location,
) -> Result<(), StorageError> {
    // The foreign keys reject the deletion too. PostgreSQL reads up to the first resource for that, and
    // SQLite all of the location.
    if !c.is_postgres() {
        macro_rules! first {
            ($table:literal) => {
                concat!("SELECT id FROM ", $table, " WHERE location = $1 LIMIT 1")
            };
        }
        for sql in [
            first!("vm"),
            first!("private_subnet"),
            first!("firewall"),
            first!("load_balancer"),
            first!("postgres_database"),
        ] {
            if c.exists(sql, &[&name]).await? {
                return Err(StorageError::Conflict);
            }
        }
    }
    c.execute("DELETE FROM location WHERE name = $1", &[&name])
        .await?;
    Ok(())
}
