//! Jobs: changes of any type as trait objects, which backends queue and run.

use std::any::TypeId;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api_types::ProjectId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::lines::Ticket;
use super::written::Written;
use super::{Aborted, Change, Connection, StorageError};

/// A type that holds a change of any type. A backend claims the job, runs it once or several times,
/// and then sends the result of the change to its caller.
pub(super) trait Job: Send {
    /// Applies the change once. Fails with [`StorageError::Closed`] if the job is not claimed or
    /// the change panics.
    fn run<'a>(&'a mut self, tx: &'a mut Connection<'_>) -> BoxFuture<'a, Ran>;
    /// Sends the caller the result of the last run, a refusal included, if `committed` is `Ok`,
    /// else the error of `committed`.
    fn send(self: Box<Self>, committed: Result<(), StorageError>);
    /// Takes the change for the backend, so that the caller cannot withdraw it any more. Returns
    /// false if the caller has already withdrawn the change.
    fn claim(&mut self) -> bool;
    /// Stores the ticket by which the change counts as one in progress until it ends or is
    /// withdrawn.
    fn admit(&mut self, ticket: Ticket);
    /// Offers the change again, so that it can be claimed once more after a run that has met
    /// something. Returns false if the caller has waited long enough or is gone.
    fn offer_again(&mut self, met: Met) -> bool;
    /// Counts a run that has failed, and whose failure may pass.
    fn count_failure(&mut self);
    /// Returns the number of runs that were counted by [`count_failure`](Self::count_failure).
    fn failures(&self) -> u32;
    /// Returns whether the caller has withdrawn the change. A claimed change never is.
    fn is_withdrawn(&self) -> bool;
    /// Returns the group of the change.
    fn group(&self) -> &Group;
}

/// Who asks for a change or a query. Those of one owner wait in a line of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Callers with a credential of a project.
    Project(ProjectId),
    /// Callers whose credential is not known yet.
    Unknown,
    /// The service itself, or an operator.
    Service,
    /// A probe of whether the service is ready, whose queries come before all others.
    Probe,
}

/// The changes of one type and about one project: those that probably need the same lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Group {
    owner: Owner,
    project: Option<ProjectId>,
    change: TypeId,
}

impl Group {
    /// Returns the group of a type of changes. The project is the one that owns what they are about,
    /// if they are only about that project.
    pub(super) fn of<C: Change>(project: Option<ProjectId>) -> Self {
        Self {
            owner: match &project {
                Some(project) if C::IS_OF_CALLER => Owner::Project(project.clone()),
                _ => Owner::Service,
            },
            project,
            change: TypeId::of::<C>(),
        }
    }

    /// Returns the owner of the changes.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }
}

/// What a change has met in a run, after which it may run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// A lock that another transaction holds.
    Lock,
    /// Concurrent changes that it conflicts with.
    Conflict,
}

/// A change that waits for a worker, shared by its caller and the worker. Only the first of the two
/// to call [`take`](Self::take) gets the change. A caller that stops waiting takes it and frees its
/// memory, so that a queue of abandoned jobs stays small.
pub(super) struct Offer<C>(Arc<Mutex<Offered<C>>>);

struct Offered<C> {
    /// The change, until one of the two takes it.
    change: Option<C>,
    /// The ticket by which the change is counted, once a backend has admitted it. It is taken
    /// together with the change.
    ticket: Option<Ticket>,
    /// What it has met, if it has run before.
    met: Option<Met>,
}

impl<C> Offer<C> {
    pub(super) fn new(change: C) -> Self {
        Self(Arc::new(Mutex::new(Offered {
            change: Some(change),
            ticket: None,
            met: None,
        })))
    }

    /// Takes the change with its ticket. Returns `None` if the caller has withdrawn it or the worker
    /// has claimed it before.
    fn take(&self) -> Option<(C, Option<Ticket>)> {
        let mut offered = self.offered();
        let change = offered.change.take()?;
        Some((change, offered.ticket.take()))
    }

    /// Withdraws the change. Returns the error for its caller, or `None` if a worker has claimed it.
    pub(super) fn withdraw(&self) -> Option<StorageError> {
        self.take()?;
        Some(match self.offered().met {
            None => StorageError::Crowded("the changes before it take too long"),
            Some(Met::Lock) => StorageError::Locked(
                "the change has met it, and its turn has not come again".into(),
            ),
            Some(Met::Conflict) => StorageError::Conflict,
        })
    }

    /// Puts back a change that was taken, and ran until it met something.
    fn put(&self, change: C, ticket: Option<Ticket>, met: Met) {
        *self.offered() = Offered {
            change: Some(change),
            ticket,
            met: Some(met),
        };
    }

    fn is_taken(&self) -> bool {
        self.offered().change.is_none()
    }

    fn offered(&self) -> MutexGuard<'_, Offered<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Clone for Offer<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A guard that the caller of a change holds. When the guard is dropped, the change is withdrawn
/// unless a worker has claimed it.
pub(super) struct Withdrawn<C>(pub(super) Offer<C>);

impl<C> Drop for Withdrawn<C> {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// How a run of a job ended.
#[derive(Debug)]
pub(super) enum Ran {
    /// The change succeeded, and the caller must commit what it wrote.
    Done,
    /// The change refused, and the caller must roll back what it wrote.
    Refused,
    /// The database failed, or a concurrent change has committed first.
    Failed(StorageError),
}

/// What the caller of a change gets.
pub(super) type Ended<C> = Result<<C as Change>::Output, Aborted<<C as Change>::Refusal>>;

/// The [`Job`] of a change, with the result of its last run and the channel to its caller.
pub(super) struct Pending<C: Change> {
    offer: Offer<C>,
    change: Option<C>,
    ticket: Option<Ticket>,
    failures: u32,
    result: Option<Ended<C>>,
    /// Whether the last run has changed rows.
    has_changed: bool,
    sender: oneshot::Sender<Ended<C>>,
    group: Group,
    /// When the caller stops waiting for the change to begin.
    until: Instant,
    /// Where a commit is noted that has written.
    written: Arc<Written>,
}

impl<C: Change> Pending<C> {
    pub(super) fn new(
        offer: Offer<C>,
        sender: oneshot::Sender<Ended<C>>,
        (project, until): (Option<ProjectId>, Instant),
        written: &Arc<Written>,
    ) -> Self {
        Self {
            offer,
            change: None,
            ticket: None,
            failures: 0,
            result: None,
            has_changed: false,
            sender,
            group: Group::of::<C>(project),
            until,
            written: Arc::clone(written),
        }
    }
}

impl<C: Change> Job for Pending<C> {
    fn run<'a>(&'a mut self, tx: &'a mut Connection<'_>) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            let Some(change) = &self.change else {
                return Ran::Failed(StorageError::Closed);
            };
            // A panic in one change must not lose the others of its batch.
            let ran = AssertUnwindSafe(change.apply(tx)).catch_unwind().await;
            self.has_changed = tx.has_changed;
            match ran {
                Ok(Ok(output)) => {
                    self.result = Some(Ok(output));
                    Ran::Done
                }
                Ok(Err(Aborted::Refused(refusal))) => {
                    self.result = Some(Err(Aborted::Refused(refusal)));
                    Ran::Refused
                }
                Ok(Err(Aborted::Failed(error))) => Ran::Failed(error),
                Err(_) => Ran::Failed(StorageError::Closed),
            }
        })
    }

    fn claim(&mut self) -> bool {
        let Some((change, ticket)) = self.offer.take() else {
            return false;
        };
        (self.change, self.ticket) = (Some(change), ticket);
        true
    }

    fn admit(&mut self, ticket: Ticket) {
        self.offer.offered().ticket = Some(ticket);
    }

    fn offer_again(&mut self, met: Met) -> bool {
        // After `until` the caller waits for the result alone, and would wait for ever.
        if Instant::now() >= self.until || self.sender.is_closed() {
            return false;
        }
        let Some(change) = self.change.take() else {
            return false;
        };
        self.offer.put(change, self.ticket.take(), met);
        true
    }

    fn count_failure(&mut self) {
        self.failures += 1;
    }

    fn failures(&self) -> u32 {
        self.failures
    }

    fn is_withdrawn(&self) -> bool {
        self.change.is_none() && self.offer.is_taken()
    }

    fn group(&self) -> &Group {
        &self.group
    }

    fn send(mut self: Box<Self>, committed: Result<(), StorageError>) {
        // Before the caller can submit another change.
        drop(self.ticket.take());
        // Here, as the caller may be gone.
        if committed.is_ok() && self.has_changed && matches!(self.result, Some(Ok(_))) {
            self.written.note(self.group.project);
        }
        let result = match committed {
            Ok(()) => self
                .result
                .unwrap_or(Err(Aborted::Failed(StorageError::Closed))),
            Err(error) => Err(Aborted::Failed(error)),
        };
        // The caller may be gone; the change is made all the same.
        let _ = self.sender.send(result);
    }
}
