//! Jobs: changes of any type as trait objects, which backends queue and run.

use std::any::TypeId;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use api_types::ProjectId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

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
    /// Offers the change again, so that it can be claimed once more after a run that a lock has
    /// ended. Returns false if the caller has waited long enough or is gone.
    fn offer_again(&mut self) -> bool;
    /// Returns whether the caller has withdrawn the change. A claimed change never is.
    fn is_withdrawn(&self) -> bool;
    /// Returns the group of the change.
    fn group(&self) -> &Group;
}

/// The changes of one type that are about one project, or about none: those that probably need the
/// same lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Group {
    project: Option<ProjectId>,
    change: TypeId,
}

impl Group {
    /// Returns the group of a type of changes. The project is the one that owns what they are about,
    /// if they are only about that project.
    pub(super) fn of<C: Change>(project: Option<ProjectId>) -> Self {
        Self {
            project,
            change: TypeId::of::<C>(),
        }
    }
}

/// A change that waits for a worker, shared by its caller and the worker. Only the first of the two
/// to call [`take`](Self::take) gets the change. A caller that stops waiting takes it and frees its
/// memory, so that a queue of abandoned jobs stays small.
pub(super) struct Offer<C>(Arc<Mutex<Offered<C>>>);

struct Offered<C> {
    /// The change, until one of the two takes it.
    change: Option<C>,
    /// Whether it has run before, until it met a lock.
    was_locked: bool,
}

impl<C> Offer<C> {
    pub(super) fn new(change: C) -> Self {
        Self(Arc::new(Mutex::new(Offered {
            change: Some(change),
            was_locked: false,
        })))
    }

    /// Takes the change. Returns `None` if the caller has withdrawn it or the worker has claimed it
    /// before.
    pub(super) fn take(&self) -> Option<C> {
        self.offered().change.take()
    }

    /// Withdraws the change. Returns the error for its caller, or `None` if a worker has claimed it.
    pub(super) fn withdraw(&self) -> Option<StorageError> {
        let mut offered = self.offered();
        offered.change.take()?;
        Some(if offered.was_locked {
            StorageError::Locked("the change has met it, and its turn has not come again".into())
        } else {
            StorageError::Unavailable("the changes before it take too long".into())
        })
    }

    /// Puts back a change that was taken, and ran until it met a lock.
    fn put(&self, change: C) {
        *self.offered() = Offered {
            change: Some(change),
            was_locked: true,
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

/// The queue of jobs that wait for a worker. A worker exits when the queue is closed and empty. The
/// queue is unbounded: a caller waits no longer than [`super::WAIT`], and the entry of a caller
/// that no longer waits holds no change.
pub(super) struct Queue(RwLock<Option<mpsc::UnboundedSender<Box<dyn Job>>>>);

/// The receiving end of a [`Queue`], from which workers take jobs.
pub(super) type Waiting = mpsc::UnboundedReceiver<Box<dyn Job>>;

impl Queue {
    pub(super) fn new() -> (Self, Waiting) {
        let (jobs, waiting) = mpsc::unbounded_channel();
        (Self(RwLock::new(Some(jobs))), waiting)
    }

    /// Adds a job to the queue. If the queue is closed, sends [`StorageError::Closed`] to the
    /// caller of the job instead.
    pub(super) fn submit(&self, job: Box<dyn Job>) {
        let jobs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let unsent = match &*jobs {
            Some(jobs) => jobs.send(job).err().map(|unsent| unsent.0),
            None => Some(job),
        };
        if let Some(job) = unsent {
            job.send(Err(StorageError::Closed));
        }
    }

    /// Closes the queue to further jobs. Workers still run the jobs that it holds.
    pub(super) fn close(&self) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

/// How a run of a job ended.
#[derive(Debug)]
pub(super) enum Ran {
    /// The change succeeded, and what it wrote is to be committed.
    Done,
    /// The change refused, and what it wrote is to be rolled back.
    Refused,
    /// The database failed, or a concurrent change has committed first.
    Failed(StorageError),
}

/// The [`Job`] of a change, with the result of its last run and the channel to its caller.
pub(super) struct Pending<C: Change> {
    offer: Offer<C>,
    change: Option<C>,
    result: Option<Result<C::Output, Aborted<C::Refusal>>>,
    sender: oneshot::Sender<Result<C::Output, Aborted<C::Refusal>>>,
    group: Group,
    /// When the caller stops waiting for the change to begin.
    until: Instant,
}

impl<C: Change> Pending<C> {
    pub(super) fn new(
        offer: Offer<C>,
        sender: oneshot::Sender<Result<C::Output, Aborted<C::Refusal>>>,
        project: Option<ProjectId>,
        until: Instant,
    ) -> Self {
        Self {
            offer,
            change: None,
            result: None,
            sender,
            group: Group::of::<C>(project),
            until,
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
        self.change = self.offer.take();
        self.change.is_some()
    }

    fn offer_again(&mut self) -> bool {
        // After `until` the caller waits for the result alone, and would wait for ever.
        if Instant::now() >= self.until || self.sender.is_closed() {
            return false;
        }
        let Some(change) = self.change.take() else {
            return false;
        };
        self.offer.put(change);
        true
    }

    fn is_withdrawn(&self) -> bool {
        self.change.is_none() && self.offer.is_taken()
    }

    fn group(&self) -> &Group {
        &self.group
    }

    fn send(self: Box<Self>, committed: Result<(), StorageError>) {
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
