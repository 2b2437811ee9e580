//! The statements that read databases for their owner.

use api_types::{
    CaCertificates, Count, Location, MaintenanceHour, Name, PostgresBackup, PostgresFlavor,
    PostgresHaType, PostgresId, PostgresParent, PostgresSize, PostgresState, PostgresVersion,
    ProjectId, StorageSizeGib, Tag,
};

use super::super::page::{PageSql, fetch, page_sql};
use super::super::record::record;
use super::super::statement::{Parameter, statement};
use super::super::{Connection, StorageError};
use super::{Database, database_columns};
use crate::domain::list::{Order, Page};

record! {
    /// The part of the row of a database that lists show.
    #[derive(Debug, Clone)]
    pub struct DatabaseSummary in "postgres_database" {
        /// The id of the database.
        pub id: PostgresId,
        /// The location of the database.
        pub location: Location,
        /// The name of the database, unique in the project and location.
        pub name: Name,
        /// The flavor of the database.
        pub flavor: PostgresFlavor,
        /// The wanted availability: the number of standbys, and whether they replicate
        /// synchronously.
        pub ha_type: PostgresHaType,
        /// The state of the database.
        pub state: PostgresState,
        /// The storage of the database in GiB.
        pub storage_size_gib: StorageSizeGib,
        /// The storage in GiB that the owner wants.
        pub target_storage_size_gib: StorageSizeGib,
        /// The PostgreSQL version of the database.
        pub version: PostgresVersion,
        /// The PostgreSQL version that the database should have.
        pub target_version: PostgresVersion,
        /// The size of the virtual machine of the database.
        pub vm_size: PostgresSize,
        /// The size of the virtual machine that the owner wants.
        pub target_vm_size: PostgresSize,
        /// The hour of the day, in UTC, at which the maintenance window starts.
        pub maintenance_window_start_at: MaintenanceHour,
        /// The path of the database that this one was created from, as in the API, or `None` if
        /// there is none.
        pub parent: Option<PostgresParent>,
        /// The id of the database that this one is or was restored from, or `None` if it was created
        /// empty.
        pub restored_from: Option<PostgresId>,
        /// The tags that the owner has given the database.
        pub tags: Vec<Tag>,
        /// The certificates of the authority that issued the server's certificate, in PEM, or
        /// `None` before the database runs.
        pub ca_certificates: Option<CaCertificates>,
    }
    columns summary_columns;
}

/// Returns the number of databases of a project or of one location, and a page of them in the order
/// of `page`. The page may have fewer items than `page.size` if these are large.
pub async fn page(
    c: &mut Connection<'_>,
    project: &ProjectId,
    location: Option<&Location>,
    page: &Page,
) -> Result<(Count, Vec<DatabaseSummary>), StorageError> {
    macro_rules! of_location {
        ($column:literal, $(ties: $ties:literal,)? $index:literal) => {
            page_sql!(
                summary_columns!(),
                of_location: "postgres_database",
                "postgres",
                by: $column,
                $(ties: $ties,)?
                index: $index,
                bytes: "octet_length(t.tags) + COALESCE(octet_length(t.ca_certificates), 0)"
            )
        };
    }
    macro_rules! of_project {
        ($after:literal, $order:literal) => {
            page_sql!(
                summary_columns!(),
                of_project: "postgres_database",
                "postgres",
                after: $after,
                order: $order,
                bytes: "octet_length(t.tags) + COALESCE(octet_length(t.ca_certificates), 0)"
            )
        };
    }
    if let Some(location) = location {
        let parameters: [&dyn Parameter; 4] = [&project, &page.after, &page.size, &location];
        match page.order {
            Order::Id => {
                let sql = of_location!("id", " INDEXED BY postgres_database_of_location");
                fetch(c, sql, &parameters).await
            }
            // A database that is being deleted may have the name of another one.
            Order::Name => fetch(c, of_location!("name", ties: "id", ""), &parameters).await,
        }
    } else {
        let parameters: [&dyn Parameter; 3] = [&project, &page.after, &page.size];
        match page.order {
            Order::Id => fetch(c, of_project!("id", "id"), &parameters).await,
            Order::Name => fetch(c, of_project!("name", "name, id"), &parameters).await,
        }
    }
}

/// Returns whether there is any database in the store.
pub async fn is_any(c: &mut Connection<'_>) -> Result<bool, StorageError> {
    let sql = statement!("SELECT id FROM postgres_database LIMIT 1");
    c.exists(sql, &[]).await
}

/// Looks up a database of a project and location by its id.
pub async fn lookup_id(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    id: &str,
) -> Result<Option<Database>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        database_columns!(),
        " FROM postgres_database AS t WHERE t.project_id = $1 AND t.location = $2 AND t.id = $3"
    ));
    c.fetch_optional::<Database>(sql, &[&project, &location, &id])
        .await
}

/// Looks up a database of a project, in any location, by its id.
pub async fn lookup_anywhere(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PostgresId,
) -> Result<Option<Database>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        database_columns!(),
        " FROM postgres_database AS t WHERE t.project_id = $1 AND t.id = $2"
    ));
    c.fetch_optional(sql, &[&project, &id]).await
}

/// Looks up a database of a project and location by its name. One that is being deleted has no
/// name any more.
pub async fn lookup_name(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, &Location),
    name: &str,
) -> Result<Option<Database>, StorageError> {
    macro_rules! sql {
        ($index:literal) => {
            concat!(
                "SELECT ",
                database_columns!(),
                " FROM postgres_database AS t",
                $index,
                " WHERE t.project_id = $1 AND t.location = $2 AND t.name = $3 AND t.state <> 'deleting'"
            )
        };
    }
    // By the other index of names, SQLite would read those that are being deleted too.
    let sql = statement! {
        sqlite: sql!(" INDEXED BY postgres_database_of_name"),
        postgres: sql!(""),
    };
    c.fetch_optional::<Database>(sql, &[&project, &location, &name])
        .await
}

record! {
    /// The backups of a database.
    struct Backups in "postgres_database" {
        /// The backups, the oldest first.
        backups: Vec<PostgresBackup>,
    }
}

/// Returns the backups of a database, the oldest first.
pub async fn backups(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PostgresId,
) -> Result<Vec<PostgresBackup>, StorageError> {
    let sql = statement!("SELECT backups FROM postgres_database WHERE project_id = $1 AND id = $2");
    let found = c.fetch_optional::<Backups>(sql, &[&project, &id]).await?;
    Ok(found.map(|row| row.backups).unwrap_or_default())
}

record! {
    /// The name of a database.
    struct Named in "postgres_database" {
        /// The name.
        name: Name,
    }
}

/// Returns the names of databases that are being restored from another one, at most `limit`.
pub async fn restoring_from(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &PostgresId,
    limit: i64,
) -> Result<Vec<Name>, StorageError> {
    macro_rules! sql {
        ($index:literal) => {
            concat!(
                "SELECT name FROM postgres_database",
                $index,
                " WHERE project_id = $1 AND restored_from = $2 AND state = 'creating' \
                 ORDER BY name LIMIT $3"
            )
        };
    }
    let sql = statement! {
        sqlite: sql!(" INDEXED BY postgres_database_by_source"),
        postgres: sql!(""),
    };
    let found = c.fetch_all::<Named>(sql, &[&project, &id, &limit]).await?;
    Ok(found.into_iter().map(|row| row.name).collect())
}
