//! Postgres databases: their rows, with the statements that read and write them for the owner.
//! `lease.rs` has those of the reconciler.

mod read;
mod sealed;
mod write;

use std::fmt;

use api_types::{
    CaCertificates, Location, MaintenanceHour, Name, PostgresFirewallRule, PostgresFlavor,
    PostgresHaType, PostgresId, PostgresParent, PostgresSize, PostgresState, PostgresVersion,
    StorageSizeGib, Tag,
};

pub use read::{
    DatabaseSummary, backups, is_any, lookup_anywhere, lookup_id, lookup_name, page, restoring_from,
};
pub use sealed::{Sealed, reseal, sealed_after};
pub use write::{Part, begin_delete, insert, promote, restart, retarget, set};

use super::record::record;

record! {
    /// A row of the table of Postgres databases. Times are in seconds since 1970. A target is what
    /// the owner wants, and what the reconciler changes the database to.
    #[derive(Clone, PartialEq)]
    pub struct Database in "postgres_database" {
        /// The id of the database.
        pub id: PostgresId,
        /// The location of the database.
        pub location: Location,
        /// The name of the database, unique among those in the project and location that are not
        /// being deleted.
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
        /// Whether the owner has set that hour, which tells midnight from no window.
        pub maintenance_window_is_set: bool,
        /// The path of the database that this one was created from, as in the API, or `None` if
        /// there is none.
        pub parent: Option<PostgresParent>,
        /// The id of the database that this one is or was restored from, or `None` if it was created
        /// empty. That database may not exist any more.
        pub restored_from: Option<PostgresId>,
        /// The time that the database is restored to, in microseconds since 1970.
        pub restore_target: Option<i64>,
        /// The tags that the owner has given the database.
        pub tags: Vec<Tag>,
        /// The firewall rules of the database.
        pub firewall_rules: Vec<PostgresFirewallRule>,
        /// The superuser's password, sealed (encrypted).
        pub password: Vec<u8>,
        /// The name of the host that the database is reached at, or `None` before the database
        /// runs.
        pub host: Option<String>,
        /// The certificates of the authority that issued the server's certificate, in PEM, or
        /// `None` before the database runs.
        pub ca_certificates: Option<CaCertificates>,
        /// The earliest moment that the database can be restored to, or `None` before the first
        /// backup.
        pub earliest_restore_time: Option<i64>,
        /// The latest moment that the database can be restored to.
        pub latest_restore_time: i64,
        /// The size of the data in bytes.
        pub used_bytes: i64,
        /// The number of changes that the owner has made so far. A change that has read an earlier
        /// revision is a conflict.
        pub revision: i64,
    }
    columns database_columns;
}

pub(super) use database_columns;

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
