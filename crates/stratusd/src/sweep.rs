//! The sweep: deletes what has expired by the clock of the database, in small transactions.

mod shorten;

use std::convert::Infallible;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::causes::Causes;
use crate::storage::idempotency::Deleted;
use crate::storage::{
    Aborted, Change, Connection, StorageError, Store, audit, clock, idempotency,
    load_balancer_change,
};
use crate::world::World;
pub use shorten::{Counted, shorten};

/// The pause between two sweeps.
pub const PAUSE: Duration = Duration::from_mins(1);
/// How long a change of a load balancer is kept for the data plane, which reads several a second. It
/// reads all load balancers anew if it could not read for longer than half of this.
pub const CHANGES_KEPT: Duration = Duration::from_hours(1);
/// The number of rows that one transaction deletes at most.
const BATCH: i64 = 500;

/// The numbers of rows that a sweep has deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Responses whose idempotency key had expired.
    pub responses: usize,
    /// Entries of the audit trail that were too old.
    pub entries: usize,
    /// Changes of load balancers that the data plane has read.
    pub changes: usize,
}

/// What the audit trail keeps.
#[derive(Debug, Clone, Copy)]
pub struct Trail {
    /// How long it keeps an entry.
    pub retention: Duration,
    /// How many entries it keeps of a project.
    pub entries: u32,
}

/// Sweeps until `stop`, for the first time at once. Several replicas may sweep the same database.
pub async fn run(store: Store, world: World, trail: Trail, stop: CancellationToken) {
    let mut counted = Counted::All;
    loop {
        let swept = async {
            let swept = once(&store, &world, trail.retention).await;
            let shortened = shorten(&store, counted, trail.entries).await;
            if shortened.is_ok() {
                counted = Counted::Busy;
            }
            shortened.and(swept)
        };
        match stop.run_until_cancelled(swept).await {
            None => return,
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::warn!(error = %Causes(&error), "failed to sweep; trying again in a minute");
            }
        }
        if stop
            .run_until_cancelled(tokio::time::sleep(PAUSE))
            .await
            .is_none()
        {
            return;
        }
    }
}

/// Deletes every response whose idempotency key has expired, every entry of the audit trail that is
/// older than `audit_retention`, and every change of a load balancer that is older than
/// [`CHANGES_KEPT`], by the [clock of the database](clock::now).
///
/// # Errors
///
/// If the database fails. What has been deleted by then stays so.
pub async fn once(
    store: &Store,
    world: &World,
    audit_retention: Duration,
) -> Result<Swept, StorageError> {
    let age = i64::try_from(audit_retention.as_millis()).unwrap_or(i64::MAX);
    let expired = |kind| Expired {
        kind,
        world: world.clone(),
    };
    // A kind is swept although another fails, or what it leaves behind would grow.
    let responses = all(store, &expired(Kind::Responses)).await;
    let entries = all(store, &expired(Kind::Entries { age })).await;
    let changes = all(store, &expired(Kind::Changes)).await;
    Ok(Swept {
        responses: responses?,
        entries: entries?,
        changes: changes?,
    })
}

/// Deletes everything of a kind that has expired, and returns the number of rows.
async fn all(store: &Store, expired: &Expired) -> Result<usize, StorageError> {
    let mut count = 0;
    loop {
        let begun = Instant::now();
        let deleted = store.change(expired.clone()).await;
        let deleted = deleted.map_err(Aborted::failure)?;
        count += deleted.rows;
        if !deleted.has_more {
            return Ok(count);
        }
        // The writer is free for as long as the transaction took, however much there is to delete.
        tokio::time::sleep(begun.elapsed()).await;
    }
}

/// A transaction that deletes what has expired.
#[derive(Debug, Clone)]
struct Expired {
    kind: Kind,
    world: World,
}

/// The kinds of rows that a sweep deletes. A transaction deletes rows of one kind.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Responses whose idempotency key has expired.
    Responses,
    /// Entries of the audit trail that are older than this, in milliseconds.
    Entries { age: i64 },
    /// Changes of load balancers that are older than [`CHANGES_KEPT`].
    Changes,
}

impl Change for Expired {
    type Output = Deleted;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Deleted, Aborted<Infallible>> {
        let now = clock::now(tx, &self.world).await?;
        Ok(match self.kind {
            Kind::Responses => idempotency::sweep(tx, now, BATCH).await?,
            Kind::Entries { age } => {
                of_batch(audit::sweep(tx, now.saturating_sub(age), BATCH).await?)
            }
            Kind::Changes => {
                let age = i64::try_from(CHANGES_KEPT.as_millis()).unwrap_or(i64::MAX);
                let before = now.saturating_sub(age);
                of_batch(load_balancer_change::sweep(tx, before, BATCH).await?)
            }
        })
    }
}

/// Returns what a transaction has deleted that may delete [`BATCH`] rows. If there were fewer, these are
/// the last ones, or another replica deletes the rest.
fn of_batch(rows: usize) -> Deleted {
    let has_more = i64::try_from(rows).is_ok_and(|rows| rows >= BATCH);
    Deleted { rows, has_more }
}
