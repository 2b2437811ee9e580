//! The sweep: deletes what has expired, in small transactions.

use std::convert::Infallible;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::causes::Causes;
use crate::storage::{Aborted, Change, Connection, StorageError, Store, idempotency};
use crate::world::World;

/// The pause between two sweeps.
pub const PAUSE: Duration = Duration::from_mins(1);
/// The number of rows that one transaction deletes at most.
const BATCH: i64 = 500;

/// Sweeps until `stop`. Several replicas may sweep the same database.
pub async fn run(store: Store, world: World, stop: CancellationToken) {
    while stop
        .run_until_cancelled(tokio::time::sleep(PAUSE))
        .await
        .is_some()
    {
        if let Err(error) = once(&store, world.now()).await {
            tracing::warn!(error = %Causes(&error), "failed to sweep; trying again in a minute");
        }
    }
}

/// Deletes every response whose idempotency key has expired, and returns their number. `now` is in
/// milliseconds since 1970.
///
/// # Errors
///
/// If the database fails. What has been deleted by then stays so.
pub async fn once(store: &Store, now: i64) -> Result<usize, StorageError> {
    let mut count = 0;
    loop {
        let deleted = store
            .change(Sweep { now })
            .await
            .map_err(Aborted::failure)?;
        count += deleted;
        // Fewer rows than asked for are the last ones, or another replica deletes the rest.
        if i64::try_from(deleted).is_ok_and(|deleted| deleted < BATCH) {
            return Ok(count);
        }
    }
}

struct Sweep {
    now: i64,
}

impl Change for Sweep {
    type Output = usize;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<usize, Aborted<Infallible>> {
        Ok(idempotency::sweep(tx, self.now, BATCH).await?)
    }
}
