//! Locks on single rows, held to the end of a change.
//!
//! A change that is conditional (`If-Match`) locks its resource before it checks the condition, so
//! that no other change of the resource commits between the check and the write. Other changes need
//! no lock: unique keys and revisions reject what concurrent changes exclude.

use api_types::{FirewallId, LoadBalancerId, PostgresId, PrivateSubnetId, ProjectId};

use super::statement::statement;
use super::{Connection, StorageError};

/// The statements that lock a row of a table by its key. On SQLite one change runs at a time, so
/// nothing is left to lock.
macro_rules! lock {
    ($(#[$meta:meta])* $name:ident: $id:ty, $table:literal) => {
        $(#[$meta])*
        pub async fn $name(
            c: &mut Connection<'_>,
            project: &ProjectId,
            id: &$id,
        ) -> Result<(), StorageError> {
            macro_rules! sql {
                ($lock:literal) => {
                    concat!("SELECT id FROM ", $table, " WHERE project_id = $1 AND id = $2", $lock)
                };
            }
            let sql = statement! {
                sqlite: sql!(""),
                postgres: sql!(" FOR UPDATE"),
            };
            c.exists(sql, &[&project, id]).await?;
            Ok(())
        }
    };
}

lock! {
    /// Locks a load balancer.
    load_balancer: LoadBalancerId, "load_balancer"
}

lock! {
    /// Locks a database, also against the reconciler.
    database: PostgresId, "postgres_database"
}

lock! {
    /// Locks a private subnet, also against attaching firewalls and interfaces to it.
    private_subnet: PrivateSubnetId, "private_subnet"
}

lock! {
    /// Locks a firewall, also against attaching subnets to it.
    firewall: FirewallId, "firewall"
}
