//! The places of queries, one for each of their connections, and who has the next one.
//!
//! Queries wait in a line for each project, and the lines are served in turn, as those of changes are
//! (`lines.rs`). One project never has all places, so that slow statements of a project leave a
//! connection to the others. Nor do the long pages of all projects together. The probes of readiness
//! come before all lines: they are few, and otherwise callers could make a replica that works look as
//! if it did not.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::active::Active;
use crate::shares::{Most, Part, Shares, Wanted};
use crate::storage::StorageError;
use crate::storage::job::Owner;
use crate::storage::lines::{Room, Ticket};

/// The places, and the queries that wait for them.
pub(super) struct Places {
    shares: Arc<Shares<Owner>>,
    /// The places that queries of long pages may have.
    long: Arc<Semaphore>,
    room: Room,
    active: Arc<Active>,
}

/// The place of a query, which is free again when this is dropped.
pub(super) struct Place {
    _long: Option<OwnedSemaphorePermit>,
    _part: Part<Owner>,
    /// By which the query counts as one in progress.
    _ticket: Ticket,
}

/// What a place is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// The queries of a request that is soon done.
    Short,
    /// The queries of a long page.
    Long,
}

impl Places {
    /// Creates places, of which one owner may have all but one, or the only one, and so may all long pages.
    /// Notes which projects ask.
    pub(super) fn new(all: usize, room: Room, active: Arc<Active>) -> Self {
        let most_but_one = all.saturating_sub(1).max(1);
        let most = Most {
            all,
            each: most_but_one,
            leaves_as_much: false,
        };
        Self {
            shares: Arc::new(Shares::new(most).with_first(Owner::Probe)),
            long: Arc::new(Semaphore::new(most_but_one)),
            room,
            active,
        }
    }

    /// Waits for a place for a query of an owner.
    ///
    /// # Errors
    ///
    /// If too many queries are in progress.
    pub(super) async fn wait(&self, owner: &Owner, length: Length) -> Result<Place, StorageError> {
        let ticket = self.room.take(owner)?;
        self.active.note(owner);
        let long = match length {
            Length::Short => None,
            Length::Long => {
                let long = Arc::clone(&self.long).acquire_owned().await;
                Some(long.expect("it is never closed"))
            }
        };
        let one = Wanted {
            amount: 1,
            beside: 0,
        };
        // Pages of all projects wait for what a long one holds, and must not wait for the line of its project.
        let part = if long.is_some() {
            self.shares.wait_first(owner, one).await
        } else {
            self.shares.wait(owner, one).await
        };
        Ok(Place {
            _long: long,
            _part: part,
            _ticket: ticket,
        })
    }
}
