//! The number of items of each list, stored beside the items, so that a page does not count them.
//!
//! A count is the sum of several rows, its slots. With a single row, PostgreSQL would run all
//! creates of a project one after the other, since each holds a lock on the row until it commits.

use api_types::{Location, ProjectId};

use super::{Connection, StorageError};

/// The number of slots of a count.
const SLOTS: u32 = 16;

/// The lists that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Virtual machines.
    Vm,
    /// Load balancers.
    LoadBalancer,
    /// Postgres databases.
    Postgres,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Self::Vm => "vm",
            Self::LoadBalancer => "load_balancer",
            Self::Postgres => "postgres",
        }
    }
}

/// Adds to the count of a list, or subtracts from it.
pub(super) async fn add(
    c: &mut Connection<'_>,
    kind: Kind,
    (project, location, id): (&ProjectId, &Location, &str),
    items: i64,
) -> Result<(), StorageError> {
    let sql = "INSERT INTO resource_count (project_id, kind, location, slot, items) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (project_id, kind, location, slot) DO UPDATE SET items = resource_count.items + $5";
    c.execute(sql, &[&project, &kind.text(), &location, &slot(id), &items])
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
