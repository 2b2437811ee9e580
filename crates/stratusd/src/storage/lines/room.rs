//! The number of changes in progress, by project and in all, and the bounds on both.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::StorageError;
use crate::storage::job::Owner;

/// The number of changes of a project that may be in progress.
const EACH: usize = 2048;
/// The number of changes of all projects that may be in progress.
const ALL: usize = 8192;
/// The part of [`ALL`] that is kept for projects of which no change is in progress: each may have one
/// change of it.
const SPARE: usize = 2048;

/// The number of changes in progress: those that wait, in whichever line, and those that run. Changes
/// that their callers have withdrawn do not count.
///
/// A project may have as many changes as there is room left beside the spare part. So a project that
/// is alone has [`EACH`], `n` projects that have many have an equal share of `n + 1`, and one share is
/// left for others. And a project of which no change is in progress is refused only if at least
/// [`SPARE`] others have changes: beyond the first one of each, all projects together never have more
/// than the rest.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    by_owner: HashMap<Owner, usize>,
    all: usize,
}

impl Room {
    /// Counts a change, until its ticket is dropped.
    ///
    /// # Errors
    ///
    /// If there is no room for it.
    pub(super) fn take(&self, owner: &Owner) -> Result<Ticket, StorageError> {
        let mut taken = self.taken();
        let own = taken.by_owner.get(owner).copied().unwrap_or_default();
        let left = (ALL - SPARE).saturating_sub(taken.all);
        if own >= EACH {
            return Err(StorageError::Crowded("the project has too many changes"));
        }
        if taken.all >= ALL || (own > 0 && own >= left) {
            return Err(StorageError::Crowded(
                "all projects together have too many changes",
            ));
        }
        *taken.by_owner.entry(owner.clone()).or_default() += 1;
        taken.all += 1;
        Ok(Ticket {
            room: self.clone(),
            owner: owner.clone(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a change until it is dropped.
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
