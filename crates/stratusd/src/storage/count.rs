//! The number of resources of each kind, stored beside them, so that neither a page nor a quota
//! counts them.
//!
//! A count is the sum of several rows, its slots. With a single row, PostgreSQL would run all
//! creates of a project one after the other, since each holds a lock on the row until it commits.

use api_types::ProjectId;

use super::statement::statement;
use super::{Connection, StorageError};
pub use crate::domain::quota::Kind;

/// The number of slots of a count.
const SLOTS: u32 = 16;

impl Kind {
    /// Returns the name of the kind in the database.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Vm => "vm",
            Self::LoadBalancer => "load_balancer",
            Self::Postgres => "postgres",
            Self::PrivateSubnet => "private_subnet",
            Self::Firewall => "firewall",
            Self::InferenceApiKey => "inference_api_key",
        }
    }
}

/// Adds to the count of a kind, or subtracts from it. The location is empty for a kind without one.
pub(super) async fn add(
    c: &mut Connection<'_>,
    kind: Kind,
    (project, location, id): (&ProjectId, &str, &str),
    items: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO resource_count (project_id, kind, location, slot, items) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (project_id, kind, location, slot) DO UPDATE SET items = resource_count.items + $5"
    );
    // SQLite writes in one thread, so a single slot holds nobody up, and is the fastest to sum.
    let slot = if c.is_postgres() { slot(id) } else { 0 };
    c.execute(sql, &[&project, &kind.text(), &location, &slot, &items])
        .await?;
    Ok(())
}

/// Returns the slot of a resource. Ids are random, so their last characters spread evenly.
fn slot(id: &str) -> i64 {
    let sum = id.bytes().rev().take(4).fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    i64::from(sum % SLOTS)
}
