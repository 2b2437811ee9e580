//! The sweep: deletes what has expired, in small transactions.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::causes::Causes;
use crate::storage::{Aborted, Change, Connection, StorageError, Store, audit, idempotency};
use crate::world::World;

/// The pause between two sweeps.
pub const PAUSE: Duration = Duration::from_mins(1);
/// The number of rows that one transaction deletes at most.
const BATCH: i64 = 500;

/// The numbers of rows that a sweep has deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Responses whose idempotency key had expired.
    pub responses: usize,
    /// Entries of the audit trail that were too old.
    pub entries: usize,
}

/// Sweeps until `stop`, for the first time at once. Several replicas may sweep the same database.
pub async fn run(store: Store, world: World, audit_retention: Duration, stop: CancellationToken) {
    loop {
        let swept = once(&store, world.now(), audit_retention);
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

/// Deletes every response whose idempotency key has expired, and every entry of the audit trail that
/// is older than `audit_retention`. `now` is in milliseconds since 1970.
///
/// # Errors
///
/// If the database fails. What has been deleted by then stays so.
pub async fn once(
    store: &Store,
    now: i64,
    audit_retention: Duration,
) -> Result<Swept, StorageError> {
    let age = i64::try_from(audit_retention.as_millis()).unwrap_or(i64::MAX);
    let before = now.saturating_sub(age);
    // One kind is swept although the other fails, or what it leaves behind would grow.
    let responses = all(store, Expired::Responses { now }).await;
    let entries = all(store, Expired::Entries { before }).await;
    Ok(Swept {
        responses: responses?,
        entries: entries?,
    })
}

/// Deletes everything of a kind that has expired, and returns the number of rows.
async fn all(store: &Store, expired: Expired) -> Result<usize, StorageError> {
    let mut count = 0;
    loop {
        let begun = Instant::now();
        let deleted = store.change(expired).await.map_err(Aborted::failure)?;
        count += deleted;
        // Fewer rows than asked for are the last ones, or another replica deletes the rest.
        if i64::try_from(deleted).is_ok_and(|deleted| deleted < BATCH) {
            return Ok(count);
        }
        // The writer is free for as long as the transaction took, however much there is to delete.
        tokio::time::sleep(begun.elapsed()).await;
    }
}

/// What a transaction deletes. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
enum Expired {
    /// Responses that have expired by a time.
    Responses { now: i64 },
    /// Entries of the audit trail from before a time.
    Entries { before: i64 },
}

impl Change for Expired {
    type Output = usize;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<usize, Aborted<Infallible>> {
        Ok(match *self {
            Self::Responses { now } => idempotency::sweep(tx, now, BATCH).await?,
            Self::Entries { before } => audit::sweep(tx, before, BATCH).await?,
        })
    }
}
