//! The places of queries, one for each of their connections, and who has the next one.
//!
//! Queries wait in a line for each project, and the lines are served in turn, as those of changes are
//! (`lines.rs`). One project never has all places, so that slow statements of a project leave a
//! connection to the others. The probes of readiness come before all lines: they are few, and
//! otherwise callers could make a replica that works look as if it did not.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::storage::StorageError;
use crate::storage::job::Owner;
use crate::storage::lines::{Room, Ticket};

/// The places, and the queries that wait for them. Clones share both.
#[derive(Clone)]
pub(super) struct Places {
    state: Arc<Mutex<State>>,
    room: Room,
}

struct State {
    /// The places that no query has.
    free: usize,
    /// The number of places that one owner may have.
    each: usize,
    /// The number of places that each owner has.
    taken: HashMap<Owner, usize>,
    /// The queries that wait, in a line for each owner. A line stays, also if it is empty, until its
    /// turn comes.
    lines: HashMap<Owner, BTreeMap<u64, Waiting>>,
    /// The owners of all lines, the next one to be served first.
    turns: VecDeque<Owner>,
    /// The number of the next query that waits.
    next: u64,
}

/// A query that waits.
struct Waiting {
    sender: oneshot::Sender<Place>,
    ticket: Ticket,
}

impl Places {
    /// Creates places, of which one owner may have all but one, or the only one.
    pub(super) fn new(all: usize) -> Self {
        let state = State {
            free: all,
            each: all.saturating_sub(1).max(1),
            taken: HashMap::new(),
            lines: HashMap::new(),
            turns: VecDeque::new(),
            next: 0,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            room: Room::of_queries(),
        }
    }

    /// Waits for a place for a query of an owner.
    ///
    /// # Errors
    ///
    /// If too many queries are in progress.
    pub(super) async fn wait(&self, owner: &Owner) -> Result<Place, StorageError> {
        let ticket = self.room.take(owner)?;
        let (sender, receiver) = oneshot::channel();
        let number = self.state().push(owner, Waiting { sender, ticket });
        // Before the wait, so that a query that is abandoned leaves its line.
        let _line = InLine {
            places: self,
            owner,
            number,
        };
        self.serve();
        // Only the line has the sender, and the line outlives this wait.
        receiver.await.map_err(|_| StorageError::Closed)
    }

    /// Gives free places to the queries whose turn it is.
    fn serve(&self) {
        loop {
            // Not locked while a place is sent: one that its query does not take any more is dropped.
            let Some((owner, Waiting { sender, ticket })) = self.state().pop() else {
                return;
            };
            let place = Place {
                places: Some(self.clone()),
                owner,
                _ticket: ticket,
            };
            if let Err(mut place) = sender.send(place) {
                // Given back here and not by its drop, which would serve the next one from within.
                place.places = None;
                self.state().give_back(&place.owner);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds a query to the line of its owner, and returns its number in there.
    fn push(&mut self, owner: &Owner, waiting: Waiting) -> u64 {
        self.next += 1;
        let number = self.next;
        if let Some(line) = self.lines.get_mut(owner) {
            line.insert(number, waiting);
        } else {
            let line = BTreeMap::from([(number, waiting)]);
            self.lines.insert(owner.clone(), line);
            if *owner == Owner::Probe {
                self.turns.push_front(owner.clone());
            } else {
                self.turns.push_back(owner.clone());
            }
        }
        number
    }

    /// Takes a place for the query whose turn it is. Returns `None` if there is no place, or none that
    /// the owners of those that wait may have.
    fn pop(&mut self) -> Option<(Owner, Waiting)> {
        if self.free == 0 {
            return None;
        }
        // Passes over the lines of owners that have all places they may have, which are fewer than
        // there are places.
        let mut at = 0;
        while let Some(owner) = self.turns.get(at) {
            let has = self.taken.get(owner).copied().unwrap_or_default();
            let Entry::Occupied(mut line) = self.lines.entry(owner.clone()) else {
                self.turns.remove(at);
                continue;
            };
            if line.get().is_empty() {
                line.remove();
                self.turns.remove(at);
                continue;
            }
            if has >= self.each && *owner != Owner::Probe {
                at += 1;
                continue;
            }
            let (_, waiting) = line.get_mut().pop_first()?;
            let owner = self.turns.remove(at)?;
            if line.get().is_empty() {
                line.remove();
            } else if owner == Owner::Probe {
                self.turns.push_front(owner.clone());
            } else {
                self.turns.push_back(owner.clone());
            }
            self.free -= 1;
            *self.taken.entry(owner.clone()).or_default() += 1;
            return Some((owner, waiting));
        }
        None
    }

    fn give_back(&mut self, owner: &Owner) {
        self.free += 1;
        if let Some(has) = self.taken.get_mut(owner) {
            *has -= 1;
            if *has == 0 {
                self.taken.remove(owner);
            }
        }
    }
}

/// A place, which is free again when this is dropped.
pub(super) struct Place {
    /// `None` if the place was given back.
    places: Option<Places>,
    owner: Owner,
    /// By which the query counts as one in progress.
    _ticket: Ticket,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(places) = self.places.take() {
            places.state().give_back(&self.owner);
            places.serve();
        }
    }
}

/// A query that waits in line, and leaves it when this is dropped.
struct InLine<'p> {
    places: &'p Places,
    owner: &'p Owner,
    number: u64,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let left = {
            let mut state = self.places.state();
            let line = state.lines.get_mut(self.owner);
            line.and_then(|line| line.remove(&self.number))
        };
        // The ticket has a lock of its own.
        drop(left);
    }
}
