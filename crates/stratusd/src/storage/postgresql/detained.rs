//! Changes that wait for a lock which another transaction holds, without a connection.
//!
//! A statement that waits for a lock holds its connection, and if changes of one project held all
//! of them, those of other projects would wait too. So such a wait is short. Then the change gives
//! its connection back and runs again later, and until it gets through, its project is detained: its
//! changes run one at a time, with a pause after each that meets the lock. However many they are,
//! they hold one connection, for half of the time.
//!
//! A project is free again once a change that has met the lock gets through, or none of its changes
//! is left. A change that has not met the lock says nothing: it may be about something else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api_types::ProjectId;

use crate::storage::StorageError;
use crate::storage::job::{Job, Queue};

/// The pause after a change that has met a lock, before the next change of its project runs.
const PAUSE: Duration = Duration::from_millis(250);

/// The detained projects, and the changes of each that wait for their turn.
pub(super) struct Detained {
    /// Where changes are submitted whose turn has come.
    queue: Arc<Queue>,
    projects: Mutex<HashMap<ProjectId, Turns>>,
}

/// The changes of a detained project that wait for their turn.
#[derive(Default)]
struct Turns {
    /// Whether a change is running or pausing. Otherwise the next one is in the queue.
    is_taken: bool,
    /// Changes that have not met a lock. The newest has its turn first: if many wait for the lock,
    /// one that does not need it is not behind all of them.
    new: Vec<Box<dyn Job>>,
    /// Changes that have met a lock.
    locked: VecDeque<Box<dyn Job>>,
    /// Whether the last turn was that of a new change.
    was_new: bool,
}

/// A change that can run now.
pub(super) struct Admitted {
    /// The change.
    pub job: Box<dyn Job>,
    /// Whether it is the turn of the change in a detained project.
    has_turn: bool,
}

impl Turns {
    /// Takes out the next change: a new one and one that has met a lock alternately, so that neither
    /// keep the others waiting.
    fn next(&mut self) -> Option<Box<dyn Job>> {
        let next = if self.was_new {
            self.locked.pop_front().or_else(|| self.new.pop())
        } else {
            self.new.pop().or_else(|| self.locked.pop_front())
        }?;
        self.was_new = !next.was_locked();
        Some(next)
    }
}

impl Detained {
    /// Creates an empty set of projects, for the changes of a queue.
    pub(super) fn new(queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self {
            queue,
            projects: Mutex::default(),
        })
    }

    /// Returns a change if it can run now. Otherwise keeps it until its turn comes.
    pub(super) fn admit(&self, job: Box<dyn Job>) -> Option<Admitted> {
        let mut projects = self.projects();
        let turns = job.project().and_then(|project| projects.get_mut(project));
        let Some(turns) = turns else {
            return Some(Admitted {
                job,
                has_turn: false,
            });
        };
        if !turns.is_taken {
            turns.is_taken = true;
            return Some(Admitted {
                job,
                has_turn: true,
            });
        }
        if job.was_locked() {
            turns.locked.push_back(job);
        } else {
            turns.new.push(job);
        }
        None
    }

    /// Keeps a change that has met a lock and was offered again, and detains its project.
    pub(super) fn detain(self: &Arc<Self>, admitted: Admitted) {
        let Admitted { job, has_turn } = admitted;
        let this = Arc::clone(self);
        let Some(project) = job.project().cloned() else {
            tokio::spawn(async move {
                tokio::time::sleep(PAUSE).await;
                this.queue.submit(job);
            });
            return;
        };
        let mut projects = self.projects();
        let is_free = !projects.contains_key(&project);
        let turns = projects.entry(project.clone()).or_default();
        turns.locked.push_back(job);
        // Changes that ran beside each other before their project was detained pause together.
        if is_free || has_turn {
            turns.is_taken = true;
            tokio::spawn(async move {
                tokio::time::sleep(PAUSE).await;
                this.pass_on(&project);
            });
        }
    }

    /// Sends the caller the result of a change that will not run again, and lets other changes of
    /// its project run.
    pub(super) fn end(&self, admitted: Admitted, committed: Result<(), StorageError>) {
        let Admitted { job, has_turn } = admitted;
        let is_through = job.was_locked() && !matches!(committed, Err(StorageError::Locked(_)));
        if let Some(project) = job.project() {
            if is_through {
                self.free(project);
            } else if has_turn {
                self.pass_on(project);
            }
        }
        job.send(committed);
    }

    /// Lets other changes run in place of one whose caller has withdrawn it.
    pub(super) fn leave(&self, admitted: &Admitted) {
        if let (true, Some(project)) = (admitted.has_turn, admitted.job.project()) {
            self.pass_on(project);
        }
    }

    /// Ends the turn of a change, and submits the next one of its project. A project without further
    /// changes is free.
    fn pass_on(&self, project: &ProjectId) {
        let mut projects = self.projects();
        let Some(turns) = projects.get_mut(project) else {
            return;
        };
        turns.is_taken = false;
        match turns.next() {
            Some(next) => self.queue.submit(next),
            None => {
                projects.remove(project);
            }
        }
    }

    /// Frees a project, and submits all of its changes that wait.
    fn free(&self, project: &ProjectId) {
        let Some(turns) = self.projects().remove(project) else {
            return;
        };
        for job in turns.locked.into_iter().chain(turns.new) {
            self.queue.submit(job);
        }
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, Turns>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
