//! A change on its way through a backend, without its types.

use std::panic::AssertUnwindSafe;
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

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
    /// Whether nobody waits for it any more.
    fn is_abandoned(&self) -> bool;
    /// Since when it waits.
    fn submitted(&self) -> Instant;
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
        self.0.write().unwrap_or_else(PoisonError::into_inner).take();
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
    change: C,
    outcome: Option<Result<C::Answer, Aborted<C::Refusal>>>,
    reply: oneshot::Sender<Result<C::Answer, Aborted<C::Refusal>>>,
    submitted: Instant,
}

impl<C: Change> Pending<C> {
    pub(super) fn new(change: C, reply: oneshot::Sender<Result<C::Answer, Aborted<C::Refusal>>>) -> Self {
        Self { change, outcome: None, reply, submitted: Instant::now() }
    }
}

impl<C: Change> Job for Pending<C> {
    fn run<'a>(&'a mut self, tx: &'a mut Connection<'_>) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            // A panic in one change is no reason to lose the others of its batch.
            let ran = AssertUnwindSafe(self.change.make(tx)).catch_unwind().await;
            match ran {
                Ok(Ok(answer)) => {
                    self.outcome = Some(Ok(answer));
                    Ran::Done
                }
                Ok(Err(Aborted::Refused(refusal))) => {
                    self.outcome = Some(Err(Aborted::Refused(refusal)));
                    Ran::Refused
                }
                Ok(Err(Aborted::Failed(error))) => Ran::Failed(error),
                Err(_) => Ran::Failed(StorageError::Closed),
            }
        })
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn submitted(&self) -> Instant {
        self.submitted
    }

    fn answer(self: Box<Self>, committed: Result<(), StorageError>) {
        let outcome = match committed {
            Ok(()) => self.outcome.unwrap_or(Err(Aborted::Failed(StorageError::Closed))),
            Err(error) => Err(Aborted::Failed(error)),
        };
        // Whoever waited may have gone.
        let _ = self.reply.send(outcome);
    }
}
