//! The number of resources of each kind, stored beside them, so that pages and quotas need not
//! count them.
//!
//! A count is the sum of several rows, its slots. With a single row, PostgreSQL would run all
//! creates of a project one after the other, since each holds a lock on the row until it commits.

use std::collections::BTreeMap;

use api_types::{Count, ProjectId};

use super::record::record;
use super::statement::statement;
use super::{Connection, Corrupt, StorageError};
pub use crate::domain::quota::Kind;

/// The number of slots of a count.
const SLOTS: u32 = 16;

record! {
    /// A count.
    pub(super) struct Size in "resource_count" {
        /// The number of resources.
        pub count: Count,
    }
}

/// A type that names what is counted.
pub(super) trait Counted {
    /// Returns the name in the database.
    fn text(self) -> &'static str;
}

impl Counted for Kind {
    fn text(self) -> &'static str {
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

/// The responses that are stored by idempotency key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Responses;

impl Counted for Responses {
    fn text(self) -> &'static str {
        "idempotency"
    }
}

/// Adds to a count, or subtracts from it. The location is empty for what has none.
pub(super) async fn add(
    c: &mut Connection<'_>,
    counted: impl Counted,
    (project, location, id): (&ProjectId, &str, &str),
    items: i64,
) -> Result<(), StorageError> {
    let slot = slot(c, id.as_bytes());
    add_to_slot(c, counted.text(), (project, location, slot), items).await
}

/// Adds to a count of what has no location and is identified by a hash, or subtracts from it.
pub(super) async fn add_hash(
    c: &mut Connection<'_>,
    counted: impl Counted,
    (project, hash): (&ProjectId, &[u8]),
    items: i64,
) -> Result<(), StorageError> {
    let slot = slot(c, hash);
    add_to_slot(c, counted.text(), (project, "", slot), items).await
}

/// Subtracts what each of several rows counts as, in any projects, that have no location and are
/// identified by a hash.
pub(super) async fn subtract_hashes<'h>(
    c: &mut Connection<'_>,
    counted: impl Counted,
    gone: impl Iterator<Item = (&'h ProjectId, &'h [u8], i64)>,
) -> Result<(), StorageError> {
    // In one order for all, so that two transactions do not wait for each other.
    let mut slots = BTreeMap::new();
    for (project, hash, items) in gone {
        *slots.entry((project, slot(c, hash))).or_insert(0) -= items;
    }
    let counted = counted.text();
    for ((project, slot), items) in slots {
        add_to_slot(c, counted, (project, "", slot), items).await?;
    }
    Ok(())
}

/// Returns a count of a project, over all locations.
pub(super) async fn total(
    c: &mut Connection<'_>,
    counted: impl Counted,
    project: &ProjectId,
) -> Result<i64, StorageError> {
    let sql = statement!(
        "SELECT CAST(COALESCE(SUM(items), 0) AS BIGINT) AS count FROM resource_count \
         WHERE project_id = $1 AND kind = $2"
    );
    let counted = counted.text();
    let size = c.fetch_optional::<Size>(sql, &[&project, &counted]).await?;
    Ok(of(size)?.get())
}

/// Returns the count that a sum has returned, which has a row even if it is one of nothing.
pub(super) fn of(size: Option<Size>) -> Result<Count, Corrupt> {
    let missing = Corrupt {
        table: "resource_count",
        column: "count",
    };
    Ok(size.ok_or(missing)?.count)
}

async fn add_to_slot(
    c: &mut Connection<'_>,
    counted: &'static str,
    (project, location, slot): (&ProjectId, &str, i64),
    items: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO resource_count (project_id, kind, location, slot, items) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (project_id, kind, location, slot) DO UPDATE SET items = resource_count.items + $5"
    );
    c.insert(sql, &[&project, &counted, &location, &slot, &items])
        .await
}

/// Returns the slot of an id or a hash. Both are random, so their last bytes spread evenly.
///
/// SQLite writes in one thread, so a single slot holds nobody up, and is the fastest to sum.
fn slot(c: &Connection<'_>, id: &[u8]) -> i64 {
    if !c.is_postgres() {
        return 0;
    }
    let sum = id.iter().rev().take(4).fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(*byte))
    });
    i64::from(sum % SLOTS)
}
