//! Jobs: changes on their way through a backend, which does not know their types.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::{Aborted, Change, Connection, StorageError};

/// A change that a backend runs, perhaps several times, and whose result is sent to the caller
/// afterwards.
pub(super) trait Job: Send {
    /// Applies the change once.
    fn run<'a>(&'a mut self, tx: &'a mut Connection<'_>) -> BoxFuture<'a, Ran>;
    /// Sends the caller the result of the last run, or the failure to commit it.
    fn send(self: Box<Self>, committed: Result<(), StorageError>);
    /// Claims the change; false if the caller has withdrawn it.
    fn claim(&mut self) -> bool;
}

/// A change that waits for a worker. The caller and the worker share it, and only the first of them
/// to take it gets it. A caller that goes away takes it, which frees the memory of its body: so a
/// queue of abandoned jobs stays small.
pub(super) struct Offer<C>(Arc<Mutex<Option<C>>>);

impl<C> Offer<C> {
    pub(super) fn new(change: C) -> Self {
        Self(Arc::new(Mutex::new(Some(change))))
    }

    /// Takes the change out. Returns `None` if the caller has withdrawn or the worker has claimed
    /// it.
    pub(super) fn take(&self) -> Option<C> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<C> Clone for Offer<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// The caller's side of an offer, which withdraws the change when it is dropped.
pub(super) struct Withdrawn<C>(pub(super) Offer<C>);

impl<C> Drop for Withdrawn<C> {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// The queue of pending changes; the worker exits when it is closed and drained. It is unbounded: a
/// caller waits no longer than [`super::WAIT`], and the entry of a caller that is gone holds
/// nothing.
pub(super) struct Queue(RwLock<Option<mpsc::UnboundedSender<Box<dyn Job>>>>);

/// The worker's end of a queue.
pub(super) type Waiting = mpsc::UnboundedReceiver<Box<dyn Job>>;

impl Queue {
    pub(super) fn new() -> (Self, Waiting) {
        let (jobs, waiting) = mpsc::unbounded_channel();
        (Self(RwLock::new(Some(jobs))), waiting)
    }

    /// Adds a job. After `close` the job fails at once.
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

    /// Closes the queue to further jobs.
    pub(super) fn close(&self) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ran {
    /// The change is to be committed.
    Done,
    /// The change refused, and what it wrote is to be rolled back.
    Refused,
    /// The database failed, or a concurrent change has committed first.
    Failed(StorageError),
}

/// A change with the channel to its caller.
pub(super) struct Pending<C: Change> {
    offer: Offer<C>,
    change: Option<C>,
    result: Option<Result<C::Output, Aborted<C::Refusal>>>,
    sender: oneshot::Sender<Result<C::Output, Aborted<C::Refusal>>>,
}

impl<C: Change> Pending<C> {
    pub(super) fn new(
        offer: Offer<C>,
        sender: oneshot::Sender<Result<C::Output, Aborted<C::Refusal>>>,
    ) -> Self {
        Self {
            offer,
            change: None,
            result: None,
            sender,
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
