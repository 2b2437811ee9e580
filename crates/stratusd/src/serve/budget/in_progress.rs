//! [`InProgress`]: what a request in progress has of the budget.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use api_types::ProjectId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::super::long_work::go_on;
use super::{Charge, Owner, Pool};
use crate::api::{Admission, Overload};
use crate::shares::{Part, Wanted};
use crate::storage::WAIT;

/// What a request in progress has of the budget, and whether it has waited for more in vain.
#[derive(Debug)]
pub(super) struct InProgress {
    pool: Arc<Pool>,
    /// The project of the token, once it is checked.
    project: OnceLock<ProjectId>,
    held: Mutex<Held>,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct Held {
    share: Option<Part<Owner>>,
    /// The bytes of the request body beyond the share. The body is dropped when it has been read, but
    /// the handler still has its bytes then.
    body: Option<Charge>,
    turn: Option<Part<Owner>>,
    processor: Option<OwnedSemaphorePermit>,
}

impl InProgress {
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        Self {
            pool: Arc::clone(pool),
            project: OnceLock::new(),
            held: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Returns whether the request has waited in vain. It has changed nothing then: it was not
    /// admitted, or its handler saw a body that cannot be read, or made a page.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ends what the request has until its response is made: everything but the share, which is
    /// returned with its owner. Returns `None` if the request was not admitted.
    pub(super) fn end(&self) -> Option<(Owner, Part<Owner>)> {
        let Held { share, .. } = std::mem::take(&mut *self.held());
        Some((self.owner(), share?))
    }

    /// Waits for bytes of the request body beyond the share.
    pub(super) fn take_bytes(
        self: &Arc<Self>,
        bytes: usize,
    ) -> BoxFuture<'static, Result<(), Overload>> {
        let progress = Arc::clone(self);
        async move {
            let (owner, large) = (progress.owner(), &progress.pool.large);
            let has = progress.held().body.as_ref().map_or(0, Charge::bytes);
            let wanted = Wanted {
                amount: bytes,
                beside: has,
            };
            let part = timeout(WAIT, large.wait(&owner, wanted)).await;
            let part = part.map_err(|_| progress.give_up())?;
            let mut held = progress.held();
            match &mut held.body {
                Some(body) => body.add(part),
                body @ None => *body = Some(Charge::new(part, &progress.pool)),
            }
            Ok(())
        }
        .boxed()
    }

    /// Waits until the body of the request, which has arrived, may be parsed.
    pub(super) fn begin_parsing(self: &Arc<Self>) -> BoxFuture<'static, Result<(), Overload>> {
        let progress = Arc::clone(self);
        async move {
            progress.turn().await?;
            progress.processor().await
        }
        .boxed()
    }

    /// Has the request rejected.
    fn give_up(&self) -> Overload {
        self.is_over.store(true, Ordering::Relaxed);
        Overload
    }

    fn owner(&self) -> Owner {
        self.project.get().cloned()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admission for InProgress {
    fn admit<'a>(&'a self, project: &'a ProjectId) -> BoxFuture<'a, Result<(), Overload>> {
        async {
            let owner = Some(self.project.get_or_init(|| project.clone()).clone());
            let one = Wanted {
                amount: 1,
                beside: 0,
            };
            let Pool {
                shares,
                each,
                large,
                ..
            } = &*self.pool;
            if large.owes(&owner) {
                return Err(self.give_up());
            }
            let waited = timeout(WAIT, shares.wait_behind(&owner, one, *each)).await;
            let share = waited.ok().flatten().ok_or_else(|| self.give_up())?;
            self.held().share = Some(share);
            Ok(())
        }
        .boxed()
    }

    fn turn(&self) -> BoxFuture<'_, Result<(), Overload>> {
        async {
            let turn = timeout(WAIT, self.pool.work.turn(&self.owner())).await;
            self.held().turn = Some(turn.map_err(|_| self.give_up())?);
            go_on(true).await;
            Ok(())
        }
        .boxed()
    }

    fn processor(&self) -> BoxFuture<'_, Result<(), Overload>> {
        async {
            let processor = timeout(WAIT, self.pool.work.processor()).await;
            self.held().processor = Some(processor.map_err(|_| self.give_up())?);
            Ok(())
        }
        .boxed()
    }

    fn rest(&self) -> BoxFuture<'_, ()> {
        async {
            let (turn, processor) = {
                let mut held = self.held();
                (held.turn.take(), held.processor.take())
            };
            drop((processor, turn));
            go_on(false).await;
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;

    use super::super::super::long_work::LongWork;
    use super::super::{Budget, PARTS, SHARE};
    use super::*;

    #[tokio::test]
    async fn as_many_requests_of_a_project_wait_as_may_be_in_progress() {
        const SHARES: usize = 8;
        let bytes = 2 * PARTS * SHARES * SHARE;
        let work = LongWork::new(2);
        let budget = Budget::new(bytes, work, Gauge::default(), Counter::default());
        let project = |letter: &str| {
            let id = ProjectId::try_from(format!("pj{}", letter.repeat(24)));
            id.expect("it is an id")
        };
        let (shop, rival) = (project("s"), project("r"));
        let requests: Vec<_> = (0..=SHARES * 2)
            .map(|_| InProgress::new(&budget.pool))
            .collect();
        let mut admitted = requests.iter().map(|request| request.admit(&shop));
        for request in admitted.by_ref().take(SHARES) {
            let begun = request.now_or_never();
            assert!(begun.is_some_and(|begun| begun.is_ok()));
        }
        let mut waiting: Vec<_> = admitted.by_ref().take(SHARES).collect();
        assert!(
            waiting
                .iter_mut()
                .all(|request| request.now_or_never().is_none())
        );
        let last = admitted.next().expect("there is one more");
        assert!(last.now_or_never().is_some_and(|refused| refused.is_err()));
        assert!(requests[SHARES * 2].is_over());
        let other = InProgress::new(&budget.pool);
        let begun = other.admit(&rival).now_or_never();
        assert!(begun.is_some_and(|begun| begun.is_ok()));
        // One that has ended makes room.
        requests[0].end();
        let first = waiting.remove(0).now_or_never();
        assert!(first.is_some_and(|begun| begun.is_ok()));
    }
}
