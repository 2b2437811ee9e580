//! The changes that wait for a worker, in a line for each project. The lines are served in turn, so
//! that the changes of a project wait only for their own line, and for one change of each other
//! project.

mod line;
mod room;

use std::collections::{HashMap, VecDeque};

use super::StorageError;
use super::job::{Job, Owner};
pub(super) use line::Line;
pub(super) use room::{Room, Ticket};

/// A line of changes for each project, and one for the changes that are about no single project. Only
/// those lines exist that hold changes.
pub(super) struct Lines {
    by_owner: HashMap<Owner, Line>,
    /// The owners of all lines, the next one to be served first.
    turns: VecDeque<Owner>,
    room: Room,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            by_owner: HashMap::new(),
            turns: VecDeque::new(),
            room: Room::of_changes(),
        }
    }
}

impl Lines {
    /// Adds a new change to the line of its project. Returns the change and an error for its caller if
    /// there is no room for it.
    pub(super) fn push(
        &mut self,
        mut job: Box<dyn Job>,
    ) -> Result<(), (Box<dyn Job>, StorageError)> {
        match self.room.take(job.group().owner()) {
            Ok(ticket) => {
                job.admit(ticket);
                self.put(job);
                Ok(())
            }
            Err(error) => Err((job, error)),
        }
    }

    /// Adds a change that was added before, and has its ticket.
    pub(super) fn put(&mut self, job: Box<dyn Job>) {
        let owner = job.group().owner();
        if let Some(line) = self.by_owner.get_mut(owner) {
            line.push(job);
            return;
        }
        let owner = owner.clone();
        let mut line = Line::default();
        line.push(job);
        self.turns.push_back(owner.clone());
        self.by_owner.insert(owner, line);
    }

    /// Returns whether no change waits.
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Takes out the first change of the next line. Those that are withdrawn are left out.
    pub(super) fn pop(&mut self) -> Option<Box<dyn Job>> {
        self.pop_of(|_| true)
    }

    /// Takes out the first change of the next line whose owner is one that `may` have it. Those that are
    /// withdrawn are left out.
    pub(super) fn pop_of(&mut self, may: impl Fn(&Owner) -> bool) -> Option<Box<dyn Job>> {
        while let Some(at) = self.turns.iter().position(&may) {
            let owner = self.turns.remove(at)?;
            let Some(line) = self.by_owner.get_mut(&owner) else {
                continue;
            };
            let job = line.pop();
            if line.is_empty() {
                self.by_owner.remove(&owner);
            } else {
                self.turns.push_back(owner);
            }
            if job.is_some() {
                return job;
            }
        }
        None
    }
}
