//! A change on its way through a backend, without its types.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::{Aborted, Change, Connection, StorageError};

/// A change that a backend runs, perhaps again, and then lets answer.
pub(super) trait Job: Send {
    /// Runs the change.
    fn run<'a>(&'a mut self, tx: &'a mut Connection<'_>) -> BoxFuture<'a, Ran>;
    /// Tells whoever waits what came out, or how it failed.
    fn answer(self: Box<Self>, committed: Result<(), StorageError>);
    /// Takes the change up. Whether there is one: whoever waited may have withdrawn it.
    fn begin(&mut self) -> bool;
}

/// A change that waits for a backend to take it up. Until then whoever submitted it may withdraw it, and with it goes
/// what it holds: jobs whose callers have gone weigh next to nothing.
pub(super) struct Offer<C>(Arc<Mutex<Option<C>>>);

impl<C> Offer<C> {
    pub(super) fn new(change: C) -> Self {
        Self(Arc::new(Mutex::new(Some(change))))
    }

    /// The change, for the first who asks.
    pub(super) fn take(&self) -> Option<C> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<C> Clone for Offer<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Withdraws an offer when it is dropped.
pub(super) struct Withdrawn<C>(pub(super) Offer<C>);

impl<C> Drop for Withdrawn<C> {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// Where changes wait for whoever makes them, who ends once it is closed and empty.
pub(super) struct Queue(RwLock<Option<mpsc::UnboundedSender<Box<dyn Job>>>>);

/// The other end of a queue.
pub(super) type Waiting = mpsc::UnboundedReceiver<Box<dyn Job>>;

impl Queue {
    pub(super) fn new() -> (Self, Waiting) {
        let (jobs, waiting) = mpsc::unbounded_channel();
        (Self(RwLock::new(Some(jobs))), waiting)
    }

    /// Adds a job; one that comes too late is answered at once.
    pub(super) fn submit(&self, job: Box<dyn Job>) {
        let jobs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let unsent = match &*jobs {
            Some(jobs) => jobs.send(job).err().map(|unsent| unsent.0),
            None => Some(job),
        };
        if let Some(job) = unsent {
            job.answer(Err(StorageError::Closed));
        }
    }

    /// Lets nothing more come.
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
    /// It shall be committed.
    Done,
    /// The change refused: what it wrote must go.
    Refused,
    /// The database failed, or another change got in between.
    Failed(StorageError),
}

/// A change with whoever waits for it.
pub(super) struct Pending<C: Change> {
    offer: Offer<C>,
    change: Option<C>,
    result: Option<Result<C::Output, Aborted<C::Refusal>>>,
    reply: oneshot::Sender<Result<C::Output, Aborted<C::Refusal>>>,
}

impl<C: Change> Pending<C> {
    pub(super) fn new(
        offer: Offer<C>,
        reply: oneshot::Sender<Result<C::Output, Aborted<C::Refusal>>>,
    ) -> Self {
        Self {
            offer,
            change: None,
            result: None,
            reply,
        }
    }
}

impl<C: Change> Job for Pending<C> {
    fn run<'a>(&'a mut self, tx: &'a mut Connection<'_>) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            let Some(change) = &self.change else {
                return Ran::Failed(StorageError::Closed);
            };
            // A panic in one change is no reason to lose the others of its batch.
            let ran = AssertUnwindSafe(change.apply(tx)).catch_unwind().await;
            match ran {
                Ok(Ok(answer)) => {
                    self.result = Some(Ok(answer));
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

    fn begin(&mut self) -> bool {
        self.change = self.offer.take();
        self.change.is_some()
    }

    fn answer(self: Box<Self>, committed: Result<(), StorageError>) {
        let result = match committed {
            Ok(()) => self
                .result
                .unwrap_or(Err(Aborted::Failed(StorageError::Closed))),
            Err(error) => Err(Aborted::Failed(error)),
        };
        // Whoever waited may have gone.
        let _ = self.reply.send(result);
    }
}
