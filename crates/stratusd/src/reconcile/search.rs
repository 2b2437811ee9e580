//! The search for databases that are due.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::changes::{BringForward, TakeDue};
use super::{LONGEST_WAIT, Reconciler, millis};
use crate::provision::Provisioner;
use crate::storage::lease::{self, Due, Lane};
use crate::storage::{self, Aborted, StorageError};

/// How much later than the longest wait a database may be due before its clock counts as set back.
const MARGIN: Duration = Duration::from_mins(1);

/// Databases that were leased together.
pub(super) struct Taken {
    pub(super) due: Vec<Due>,
    pub(super) lease: String,
    /// The earliest moment at which the lease ends.
    pub(super) expires: Instant,
}

impl<P: Provisioner> Reconciler<P> {
    /// Leases due databases of a lane, as many as there are free workers. Returns `None` if none is due.
    pub(super) async fn take(
        &self,
        lane: Lane,
        free: usize,
    ) -> Result<Option<Taken>, StorageError> {
        // Measured before the request: the store may count from any moment after it.
        let expires = Instant::now() + self.config.lease;
        // A read costs no disk write, so the store is searched often and changed only when there is
        // work.
        if !self.is_anything_due(lane).await? {
            return Ok(None);
        }
        // Random, so that a worker can tell its own lease from that of any other worker or process.
        let lease = format!("{:032x}", u128::from_be_bytes(self.context.world.random()));
        let take = TakeDue {
            lane,
            lease: lease.clone(),
            world: self.context.world.clone(),
            time: self.config.lease,
            limit: free,
            room: self.rooms.room(lane),
            crowds: self.rooms.crowds(lane),
        };
        let found = self.store.change(take).await.map_err(Aborted::failure)?;
        if found.is_vain {
            self.rooms.note_vain();
        }
        let put_off = found.put_off.try_into().unwrap_or(u64::MAX);
        self.steps.put_off.fetch_add(put_off, Ordering::Relaxed);
        let mut due = Vec::with_capacity(found.leased.len());
        for one in found.leased {
            match one {
                Ok(one) => due.push(one),
                // Its lease keeps the others from waiting for it; when the lease expires, it is
                // reported again.
                Err(corrupt) => tracing::error!("a database that is due cannot be read: {corrupt}"),
            }
        }
        // Others may be due behind those that are put off.
        Ok((!due.is_empty() || put_off > 0).then_some(Taken {
            due,
            lease,
            expires,
        }))
    }

    /// Returns whether a database of a lane is due. Databases that are due later than this service would
    /// ever let them wait are due at once: the clock was set back since they were written.
    async fn is_anything_due(&self, lane: Lane) -> Result<bool, StorageError> {
        let mut reader = self.store.reader().await?;
        let tx = &mut reader.connection();
        let now = storage::clock::now(tx, &self.context.world).await?;
        if lease::is_anything_due(tx, lane, now).await? {
            return Ok(true);
        }
        // The clock was read before the rows are, and others write theirs meanwhile.
        let longest = self.longest() + MARGIN;
        let latest = now.saturating_add(millis(longest));
        if !lease::is_anything_due_after(tx, lane, latest).await? {
            return Ok(false);
        }
        drop(reader);
        let forward = BringForward {
            lane,
            world: self.context.world.clone(),
            longest,
        };
        let forward = self.store.change(forward);
        forward.await.map_err(Aborted::failure)?;
        Ok(true)
    }

    /// Returns the longest time that a database ever waits for its next step.
    pub(super) fn longest(&self) -> Duration {
        LONGEST_WAIT.max(self.config.observe_every)
    }
}
