//! The reconciler: brings databases to their targets, one step of the provisioner after the other.
//!
//! Everything that must survive a crash is in the store. A worker leases a database while it works
//! on it. The lease is a fencing token: a worker that lost it (by a crash or a pause) cannot write
//! its result any more, and another worker asks the provisioner again. So each step runs at least
//! once, never twice at the same time while its worker lives, and several replicas share the work.

mod changes;
mod events;
mod failure;
mod orphans;
mod record;
mod room;
mod search;
mod step;

use std::collections::HashSet;
use std::convert::Infallible;
use std::future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use api_types::PostgresId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::changes::{FreeAll, Prolong, Settle};
use self::failure::Failure;
use self::room::{PROMPT, Place, RETRIES, Rooms, WORKERS};
use self::search::Taken;
use crate::causes::Causes;
use crate::operations::Context;
use crate::provision::{ProvisionError, Provisioner};
use crate::storage::lease::{Due, Lane, StepRecord};
use crate::storage::{Aborted, Store};

/// The wait after the first failure of a step; each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// Returns the wait after [`FIRST_WAIT`] was doubled some times, up to a longest wait.
fn doubled(times: u32, longest: Duration) -> Duration {
    // 2¹⁶ seconds are far beyond the longest wait, and over 31 doublings would overflow.
    FIRST_WAIT.saturating_mul(1 << times.min(16)).min(longest)
}

/// The settings of the reconciler.
#[derive(Debug, Clone)]
pub struct ReconcilerConfig {
    /// How long a worker holds a database without prolonging its lease.
    pub lease: Duration,
    /// How often a database that has reached its targets is observed.
    pub observe_every: Duration,
    /// How often the store is searched for due databases.
    pub poll: Duration,
    /// How long a step may take before it counts as failed. The next step continues what it has
    /// begun.
    pub step_limit: Duration,
    /// How long running steps have to end after the reconciler was stopped.
    pub grace: Duration,
    /// Whether no other process uses this store. Then every lease at the start is that of a process
    /// that died.
    pub is_alone: bool,
}

/// The numbers of steps so far, for metrics. A step whose lease turns out to be lost when its result
/// is written counts twice: by how it ended, and as lost.
#[derive(Debug, Default)]
pub struct Steps {
    /// Steps that succeeded.
    pub done: AtomicU64,
    /// Steps that failed and will be tried again.
    pub failed: AtomicU64,
    /// Steps whose lease was lost.
    pub lost: AtomicU64,
    /// Steps that the provisioner could not make at the time, and will be tried again.
    pub postponed: AtomicU64,
    /// Steps that failed because the provisioner has lost the database.
    pub missing: AtomicU64,
    /// Steps that found a database whose storage is nearly full.
    pub nearly_full: AtomicU64,
    /// Databases that were due and not tried, because their projects had no room for more steps.
    pub put_off: AtomicU64,
    /// Databases that events of the provisioner have named.
    pub events: AtomicU64,
    /// Streams of events that the provisioner has begun to send.
    pub event_streams: AtomicU64,
}

/// Brings the databases of a store to their targets.
#[derive(Debug)]
pub struct Reconciler<P> {
    store: Store,
    context: Context,
    provisioner: P,
    config: ReconcilerConfig,
    steps: Arc<Steps>,
    /// The databases that a worker of this process is at.
    at_work: Arc<Mutex<HashSet<PostgresId>>>,
    rooms: Rooms,
    /// Cancelled when running steps are abandoned.
    give_up: CancellationToken,
}

impl<P: Provisioner> Reconciler<P> {
    /// Creates a reconciler of a store.
    pub fn new(
        store: Store,
        context: Context,
        provisioner: P,
        config: ReconcilerConfig,
        steps: Arc<Steps>,
    ) -> Self {
        Self {
            store,
            context,
            provisioner,
            config,
            steps,
            at_work: Arc::default(),
            rooms: Rooms::default(),
            give_up: CancellationToken::new(),
        }
    }

    /// Runs until it is stopped, then waits for the running steps and abandons those that do not
    /// end in time.
    pub async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        // Without this, databases of a process that crashed would wait until their leases expire.
        if this.config.is_alone
            && let Err(error) = this.store.change(FreeAll).await.map_err(Aborted::failure)
        {
            tracing::warn!(error = %Causes(&error), "leases of an earlier process are freed when they expire");
        }
        let tasks = TaskTracker::new();
        let [prompt, retried] = Lane::ALL.map(|lane| this.run_lane(lane, &stop, &tasks));
        tokio::join!(prompt, retried, this.follow(&stop));
        tasks.close();
        if timeout(this.config.grace, tasks.wait()).await.is_err() {
            tracing::warn!(
                steps = tasks.len(),
                "steps that do not end are abandoned, and will run again"
            );
            // The wait needs no limit after this: workers drop their steps, and finish at most a
            // write.
            this.give_up.cancel();
            tasks.wait().await;
        }
    }

    /// Starts steps of the databases of a lane until the reconciler is stopped.
    async fn run_lane(self: &Arc<Self>, lane: Lane, stop: &CancellationToken, tasks: &TaskTracker) {
        let workers = Arc::new(Semaphore::new(match lane {
            Lane::Prompt => WORKERS,
            Lane::Retried => RETRIES,
        }));
        while !stop.is_cancelled() {
            // Databases are leased only for free workers: the lease of one that waited for a worker
            // would run out.
            let free = tokio::select! {
                biased;
                free = all_free(&workers) => free,
                () = stop.cancelled() => break,
            };
            let wait = match self.take(lane, free.num_permits()).await {
                Ok(None) => self.config.poll,
                Ok(Some(taken)) => {
                    // Search again at once: more databases may be due than there were free workers.
                    self.begin(lane, taken, free, tasks);
                    continue;
                }
                Err(error) => {
                    tracing::warn!(error = %Causes(&error), "due databases cannot be read");
                    // Longer than between polls, so that a store that is down is not asked and
                    // logged about several times a second.
                    self.config.poll.max(FIRST_WAIT)
                }
            };
            // A stop ends the wait.
            let _ = timeout(wait, stop.cancelled()).await;
        }
    }

    /// Starts a worker for each leased database.
    fn begin(
        self: &Arc<Self>,
        lane: Lane,
        taken: Taken,
        mut free: OwnedSemaphorePermit,
        tasks: &TaskTracker,
    ) {
        for due in taken.due {
            let (this, lease, worker) = (Arc::clone(self), taken.lease.clone(), free.split(1));
            // If the clock was set meanwhile, the lease of one of these workers may look as if it
            // had ended. The worker will find that it has lost it, and the new lease ends by itself.
            let Some(at_work) = AtWork::begin(&self.at_work, &due) else {
                continue;
            };
            let held = match lane {
                Lane::Prompt => Held::Prompt(self.rooms.prompt(&due.project_id), worker),
                Lane::Retried => Held::Retry(self.rooms.retry(&due.project_id), worker),
            };
            tasks.spawn(async move {
                this.work((&due, at_work), &lease, taken.expires, held)
                    .await;
            });
        }
    }

    /// Runs the next step for a database and writes the result.
    async fn work(
        &self,
        (due, at_work): (&Due, AtWork),
        lease: &str,
        expires: Instant,
        mut held: Held,
    ) {
        let step = self.step_in(due, &mut held);
        let record = tokio::select! {
            // The lease first, and the step last: a process that was paused for longer than the lease
            // must not ask the provisioner for anything before it notices.
            biased;
            () = self.keep(due, lease, expires) => {
                self.steps.lost.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(database = due.database.id.as_str(), "the lease has ended, so the step is abandoned");
                None
            }
            // The lease stays until it expires: the provisioner may still be at work.
            () = self.give_up.cancelled() => return,
            record = step => Some(record),
        };
        let Some(record) = record else {
            // Others get the worker, and the next step may delete the database.
            drop((held, at_work));
            return self.delete_orphan(due).await;
        };
        let record = match record {
            Ok(record) => {
                self.steps.done.fetch_add(1, Ordering::Relaxed);
                record
            }
            Err(failure) => Some(self.fail(due, failure)),
        };
        let settle = Settle {
            due: due.clone(),
            lease: lease.to_owned(),
            record: record.map(|record| StepRecord {
                // A database that is due later than this counts as one whose clock was set back.
                wait: record.wait.min(self.longest()),
                ..record
            }),
            world: self.context.world.clone(),
        };
        let settled = self.store.change_of(&due.project_id, settle).await;
        match settled.map_err(Aborted::failure) {
            Ok(true) => {}
            Ok(false) => {
                self.steps.lost.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    database = due.database.id.as_str(),
                    "another worker has taken over"
                );
                drop((held, at_work));
                self.delete_orphan(due).await;
            }
            // The lease expires, and the step runs again.
            Err(error) => {
                tracing::warn!(error = %Causes(&error), "the result of a step cannot be written");
            }
        }
    }

    /// Runs the next step for a database. If it is slow, others get its worker.
    async fn step_in(&self, due: &Due, held: &mut Held) -> Result<Option<StepRecord>, Failure> {
        let late = |_| Err(ProvisionError::Failed("it takes too long".to_owned()).into());
        let mut step = pin!(timeout(self.config.step_limit, self.step(due)));
        if let Held::Prompt(..) = held {
            if let Ok(ended) = timeout(PROMPT, &mut step).await {
                return ended.unwrap_or_else(late);
            }
            let Some(place) = self.rooms.slow(&due.project_id) else {
                let wrong = format!(
                    "it takes longer than {PROMPT:?}, as too many steps do now: it gets more time when it is tried again"
                );
                return Err(ProvisionError::Failed(wrong).into());
            };
            *held = Held::Slow(place);
        }
        step.await.unwrap_or_else(late)
    }

    /// Prolongs a lease until it is lost, and returns then. If the store does not respond, the
    /// lease ends at the time that was last confirmed: another worker may hold it after that.
    async fn keep(&self, due: &Due, lease: &str, mut expires: Instant) {
        let mut wait = self.config.lease / 3;
        loop {
            let next = Instant::now() + wait;
            let _: Option<Infallible> = until(next.min(expires), future::pending()).await;
            // Measured before the request: the store may have counted from any moment after it.
            let asked = Instant::now();
            // The store may also have taken longer to give the lease than the lease lasts.
            if asked >= expires {
                return;
            }
            let prolong = Prolong {
                due: due.clone(),
                lease: lease.to_owned(),
                world: self.context.world.clone(),
                time: self.config.lease,
            };
            // A third of the lease leaves time for several attempts after one that fails.
            let prolonged = self.store.change_of(&due.project_id, prolong);
            wait = match until(expires, prolonged).await {
                Some(Ok(true)) => {
                    expires = asked + self.config.lease;
                    self.config.lease / 3
                }
                Some(Ok(false)) | None => return,
                Some(Err(_)) => self.config.lease / 10,
            };
        }
    }
}

/// What a step takes up until its result is written.
#[derive(Debug)]
#[expect(dead_code, reason = "it is held, and released when it is dropped")]
enum Held {
    /// A part of what the project has, and a worker for databases whose last step has succeeded. The part is
    /// given back first, so that a worker which is free does not count.
    Prompt(Option<Place>, Option<OwnedSemaphorePermit>),
    /// The same, and a worker for the others.
    Retry(Option<Place>, Option<OwnedSemaphorePermit>),
    /// A place for slow steps.
    Slow(Place),
}

/// Waits for a free worker, and returns permits for all free workers.
async fn all_free(workers: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let Ok(mut free) = Arc::clone(workers).acquire_owned().await else {
        unreachable!("the semaphore is never closed")
    };
    // Only the caller takes permits of these workers, so no other task can take them in between.
    let others = u32::try_from(workers.available_permits()).unwrap_or_default();
    if let Ok(others) = Arc::clone(workers).try_acquire_many_owned(others) {
        free.merge(others);
    }
    free
}

/// Waits for a future until a moment, and returns `None` if the moment comes first.
///
/// Unlike a time-out of tokio, this reads the clock whenever it is polled. A process that was paused
/// may poll its tasks before its timers, and a worker must see that its lease has ended before it
/// does anything else.
async fn until<F: Future>(moment: Instant, future: F) -> Option<F::Output> {
    let (mut future, mut timer) = (pin!(future), pin!(sleep_until(moment)));
    future::poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        if Instant::now() >= moment {
            return Poll::Ready(None);
        }
        timer.as_mut().poll(context).map(|()| None)
    })
    .await
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// A database that a worker of this process is at, until this is dropped.
struct AtWork {
    all: Arc<Mutex<HashSet<PostgresId>>>,
    id: PostgresId,
}

impl AtWork {
    /// Returns `None` if another worker is at the database.
    fn begin(all: &Arc<Mutex<HashSet<PostgresId>>>, due: &Due) -> Option<Self> {
        let id = due.database.id.clone();
        let is_first = all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.clone());
        // Not `then_some`: a value that is made and dropped would remove the entry of the other
        // worker.
        is_first.then(|| Self {
            all: Arc::clone(all),
            id,
        })
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        for (times, seconds) in [(0, 1), (1, 2), (2, 4), (8, 256), (9, 300), (u32::MAX, 300)] {
            let wait = doubled(times, LONGEST_WAIT);
            assert_eq!(wait, Duration::from_secs(seconds), "{times} times");
        }
    }
}
