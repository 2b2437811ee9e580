//! Locks on single rows, held until the transaction of a change ends.
//!
//! A change that is conditional (`If-Match`) locks its resource before it checks the condition, so
//! that no other change of the resource commits between the check and the write. Other changes need
//! no lock: if concurrent changes exclude each other, a unique key or a revision makes one fail.

use api_types::{FirewallId, LoadBalancerId, PostgresId, PrivateSubnetId, ProjectId};

use super::statement::statement;
use super::{Connection, StorageError};

/// Defines a function that locks the row of a resource until the transaction ends. It does nothing
/// if there is no such row, and on SQLite, where only one change runs at a time.
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
    /// Locks the row of a load balancer until the transaction ends. Does nothing on SQLite.
    load_balancer: LoadBalancerId, "load_balancer"
}

lock! {
    /// Locks the row of a Postgres database until the transaction ends, so that the reconciler
    /// cannot write it either. Does nothing on SQLite.
    database: PostgresId, "postgres_database"
}

lock! {
    /// Locks the row of a private subnet until the transaction ends, so that no firewalls or
    /// network interfaces can be attached to it, and no subnets connected to it, either. Does nothing on SQLite.
    private_subnet: PrivateSubnetId, "private_subnet"
}

lock! {
    /// Locks the row of a firewall until the transaction ends, so that it cannot be attached to
    /// subnets either. Does nothing on SQLite.
    firewall: FirewallId, "firewall"
}
