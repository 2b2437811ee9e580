//! What is still to be read of load balancers, and which project has the next turn.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use api_types::{LoadBalancerId, ProjectId};

use super::declared::Key;

/// What is due, by project. It holds no more than the load balancers and the projects that there are.
#[derive(Debug, Default)]
pub(super) struct Due {
    of_projects: HashMap<ProjectId, OfProject>,
    /// The projects of which something is due, the next one first.
    turns: VecDeque<ProjectId>,
    /// What was there at the beginning and was not read yet.
    unread: HashSet<Key>,
}

/// What is due of a project.
#[derive(Debug, Default)]
struct OfProject {
    /// The load balancers that are to be read.
    changed: BTreeSet<LoadBalancerId>,
    /// How far it was read who may connect to each load balancer, if that is to be read.
    callers: Option<Pass>,
}

/// Goes through the load balancers of a project in the order of their ids.
#[derive(Debug, Default)]
struct Pass {
    /// The last one that was read.
    after: Option<LoadBalancerId>,
    /// Whether something has changed since it began: those that were read before may be wrong, and are
    /// read once more when it has ended. To begin anew at once would never end while the project changes.
    is_late: bool,
}

impl Due {
    /// Returns that all of these load balancers are due.
    pub(super) fn begin(keys: &HashSet<Key>) -> Self {
        let mut due = Self {
            unread: keys.clone(),
            ..Self::default()
        };
        // In this order, so that of two load balancers which want the same address, the same one has it after
        // each start.
        let sorted: BTreeSet<&Key> = keys.iter().collect();
        for key in sorted {
            due.add(key.clone());
        }
        due
    }

    /// Returns whether all that was there at the beginning was read.
    pub(super) fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }

    /// Adds a load balancer.
    pub(super) fn add(&mut self, (project, id): Key) {
        self.of(&project).changed.insert(id);
    }

    /// Adds who may connect to the load balancers of a project.
    pub(super) fn add_callers(&mut self, project: &ProjectId) {
        let pass = self.of(project).callers.get_or_insert_default();
        pass.is_late = pass.after.is_some();
    }

    /// Removes a load balancer that is gone.
    pub(super) fn remove(&mut self, key: &Key) {
        self.unread.remove(key);
        if let Some(of) = self.of_projects.get_mut(&key.0) {
            of.changed.remove(&key.1);
        }
    }

    /// Returns the project whose turn it is, or `None` if nothing is due.
    pub(super) fn turn(&mut self) -> Option<Turn<'_>> {
        let project = self.turns.front()?;
        let of = self.of_projects.get_mut(project)?;
        Some(Turn {
            project,
            of,
            unread: &mut self.unread,
        })
    }

    /// Ends the turn of the project whose turn it is. If more of it is due, the others come first.
    pub(super) fn end_turn(&mut self) {
        let Some(project) = self.turns.pop_front() else {
            return;
        };
        let of = self.of_projects.get(&project);
        if of.is_some_and(|of| of.changed.is_empty() && of.callers.is_none()) {
            self.of_projects.remove(&project);
        } else {
            self.turns.push_back(project);
        }
    }

    fn of(&mut self, project: &ProjectId) -> &mut OfProject {
        if !self.of_projects.contains_key(project) {
            self.turns.push_back(project.clone());
        }
        self.of_projects.entry(project.clone()).or_default()
    }
}

/// The turn of a project.
#[derive(Debug)]
pub(super) struct Turn<'d> {
    pub project: &'d ProjectId,
    of: &'d mut OfProject,
    unread: &'d mut HashSet<Key>,
}

impl Turn<'_> {
    /// Returns the next load balancer that is to be read.
    pub(super) fn next_changed(&self) -> Option<&LoadBalancerId> {
        self.of.changed.first()
    }

    /// Adds a load balancer that is to be read.
    pub(super) fn add(&mut self, id: LoadBalancerId) {
        self.of.changed.insert(id);
    }

    /// Notes that the next load balancer was read.
    pub(super) fn note_read(&mut self) {
        if let Some(id) = self.of.changed.pop_first() {
            self.unread.remove(&(self.project.clone(), id));
        }
    }

    /// Returns after which id the load balancers come of which it is to be read who may connect, or
    /// `None` if that is not to be read.
    pub(super) fn callers_after(&self) -> Option<&str> {
        let pass = self.of.callers.as_ref()?;
        Some(pass.after.as_ref().map_or("", LoadBalancerId::as_str))
    }

    /// Notes that it was read who may connect to all load balancers up to this one.
    pub(super) fn note_callers_read(&mut self, id: LoadBalancerId) {
        if let Some(pass) = &mut self.of.callers {
            pass.after = Some(id);
        }
    }

    /// Notes that it was read who may connect to all load balancers.
    pub(super) fn end_callers(&mut self) {
        let pass = self.of.callers.take();
        self.of.callers = pass.filter(|pass| pass.is_late).map(|_| Pass::default());
    }
}
