//! The number of changes, or of queries, in progress, by project and in all, and the bounds on both.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::StorageError;
use crate::storage::job::Owner;

/// The number of changes of a project that may be in progress, and of queries.
const EACH: usize = 2048;
/// The number of changes of all projects that may be in progress.
const ALL: usize = 8192;
/// The part of [`ALL`] that is kept for projects of which no change is in progress: each may have one
/// change of it.
const SPARE: usize = 2048;

/// The number of changes in progress: those that wait, in whichever line, and those that run. Changes
/// that their callers have withdrawn do not count. Queries are counted apart from changes, in the same
/// way.
///
/// A project may have as many changes as there is room left beside the spare part. So a project that
/// is alone has [`EACH`], `n` projects that have many have an equal share of `n + 1`, and one share is
/// left for others. And a project of which no change is in progress is refused only if at least
/// [`SPARE`] others have changes: beyond the first one of each, all projects together never have more
/// than the rest.
#[derive(Clone)]
pub(in crate::storage) struct Room {
    taken: Arc<Mutex<Taken>>,
    refusals: &'static Refusals,
}

/// What callers are told for whom there is no room.
struct Refusals {
    of_project: &'static str,
    of_all: &'static str,
}

#[derive(Default)]
struct Taken {
    by_owner: HashMap<Owner, usize>,
    all: usize,
}

impl Room {
    /// Creates the room for changes.
    pub(in crate::storage) fn of_changes() -> Self {
        Self::new(&Refusals {
            of_project: "the project has too many changes",
            of_all: "all projects together have too many changes",
        })
    }

    /// Creates the room for queries.
    pub(in crate::storage) fn of_queries() -> Self {
        Self::new(&Refusals {
            of_project: "the project has too many queries",
            of_all: "all projects together have too many queries",
        })
    }

    fn new(refusals: &'static Refusals) -> Self {
        Self {
            taken: Arc::default(),
            refusals,
        }
    }

    /// Counts a change or a query, until its ticket is dropped.
    ///
    /// # Errors
    ///
    /// If there is no room for it.
    pub(in crate::storage) fn take(&self, owner: &Owner) -> Result<Ticket, StorageError> {
        let mut taken = self.taken();
        let own = taken.by_owner.get(owner).copied().unwrap_or_default();
        let left = (ALL - SPARE).saturating_sub(taken.all);
        if own >= EACH {
            return Err(StorageError::Crowded(self.refusals.of_project));
        }
        if taken.all >= ALL || (own > 0 && own >= left) {
            return Err(StorageError::Crowded(self.refusals.of_all));
        }
        *taken.by_owner.entry(owner.clone()).or_default() += 1;
        taken.all += 1;
        Ok(Ticket {
            room: self.clone(),
            owner: owner.clone(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a change or a query until it is dropped.
pub(in crate::storage) struct Ticket {
    room: Room,
    owner: Owner,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.all -= 1;
        if let Some(own) = taken.by_owner.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                taken.by_owner.remove(&self.owner);
            }
        }
    }
}
