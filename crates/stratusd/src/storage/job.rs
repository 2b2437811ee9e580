//! A change on its way through a backend, without its types.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::{Aborted, Change, Connection, StorageError};

/// A change that a backend runs, perhaps again, and then lets answer.
pub(super) trait Job: Send {
    /// Runs the change.
    fn run<'a>(&'a mut self, tx: &'a mut Connection<'_>) -> BoxFuture<'a, Ran>;
    /// Tells whoever waits what came out, or how it failed.
    fn answer(self: Box<Self>, committed: Result<(), StorageError>);
    /// Whether nothing comes after it.
    fn is_last(&self) -> bool {
        false
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
}

impl<C: Change> Pending<C> {
    pub(super) fn new(change: C, reply: oneshot::Sender<Result<C::Answer, Aborted<C::Refusal>>>) -> Self {
        Self { change, outcome: None, reply }
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

    fn answer(self: Box<Self>, committed: Result<(), StorageError>) {
        let outcome = match committed {
            Ok(()) => self.outcome.unwrap_or(Err(Aborted::Failed(StorageError::Closed))),
            Err(error) => Err(Aborted::Failed(error)),
        };
        // Whoever waited may have gone.
        let _ = self.reply.send(outcome);
    }
}
