//! The reconciler: brings databases to their targets, one step of the provisioner after the other.
//!
//! Everything that must survive a crash is in the store. A worker leases a database while it works
//! on it. The lease is a fencing token: a worker that lost it (by a crash or a pause) cannot write
//! its result any more, and another worker asks the provisioner again. So each step runs at least
//! once, never twice at the same time while its worker lives, and several replicas share the work.

mod changes;
mod search;

use std::collections::HashSet;
use std::convert::Infallible;
use std::future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use api_types::{
    CaCertificates, PostgresBackup, PostgresId, PostgresSize, PostgresState, PostgresVersion,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::changes::{FreeAll, Prolong, Settle};
use self::search::Taken;
use crate::causes::Causes;
use crate::domain::postgres::{fits, sealed_for, timestamp};
use crate::operations::Context;
use crate::provision::{
    Backup, MOST_BACKUPS, Observed, Password, Progress, ProvisionError, Provisioner, Restored,
    Shape, Wanted,
};
use crate::storage::lease::{Due, StepRecord};
use crate::storage::{Aborted, Store};

/// The number of steps at the same time in one process.
const WORKERS: usize = 16;
/// The wait after the first failure of a step; each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

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
        let workers = Arc::new(Semaphore::new(WORKERS));
        let tasks = TaskTracker::new();
        while !stop.is_cancelled() {
            // Databases are leased only for free workers: the lease of one that waited for a worker
            // would run out.
            let free = tokio::select! {
                biased;
                free = all_free(&workers) => free,
                () = stop.cancelled() => break,
            };
            let wait = match this.take(free.num_permits()).await {
                Ok(None) => this.config.poll,
                Ok(Some(taken)) => {
                    // Search again at once: more databases may be due than there were free workers.
                    this.begin(taken, free, &tasks);
                    continue;
                }
                Err(error) => {
                    tracing::warn!(error = %Causes(&error), "due databases cannot be read");
                    // Longer than between polls, so that a store that is down is not asked and
                    // logged about several times a second.
                    this.config.poll.max(FIRST_WAIT)
                }
            };
            // A stop ends the wait.
            let _ = tokio::time::timeout(wait, stop.cancelled()).await;
        }
        tasks.close();
        if tokio::time::timeout(this.config.grace, tasks.wait())
            .await
            .is_err()
        {
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

    /// Starts a worker for each leased database.
    fn begin(self: &Arc<Self>, taken: Taken, mut free: OwnedSemaphorePermit, tasks: &TaskTracker) {
        for due in taken.due {
            let (this, lease, worker) = (Arc::clone(self), taken.lease.clone(), free.split(1));
            // If the clock was set meanwhile, the lease of one of these workers may look as if it
            // had ended. The worker will find that it has lost it, and the new lease ends by itself.
            let Some(at_work) = AtWork::begin(&self.at_work, &due) else {
                continue;
            };
            tasks.spawn(async move {
                this.work(&due, &lease, taken.expires).await;
                // Named here, so that the task owns both until its step has ended.
                drop((worker, at_work));
            });
        }
    }

    /// Runs the next step for a database and writes the result.
    async fn work(&self, due: &Due, lease: &str, expires: Instant) {
        let step = tokio::time::timeout(self.config.step_limit, self.step(due));
        let record = tokio::select! {
            // The lease first, and the step last: a process that was paused for longer than the lease
            // must not ask the provisioner for anything before it notices.
            biased;
            () = self.keep(due, lease, expires) => {
                self.steps.lost.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(database = due.database.id.as_str(), "the lease has ended, so the step is abandoned");
                return;
            }
            // The lease stays until it expires: the provisioner may still be at work.
            () = self.give_up.cancelled() => return,
            record = step => record.unwrap_or_else(|_| Err(ProvisionError("it takes too long".to_owned()))),
        };
        let record = match record {
            Ok(record) => {
                self.steps.done.fetch_add(1, Ordering::Relaxed);
                record
            }
            Err(error) => {
                self.steps.failed.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    database = due.database.id.as_str(),
                    attempts = due.attempts + 1,
                    "a step failed: {error}"
                );
                Some(Self::failed(due))
            }
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
            }
            // The lease expires, and the step runs again.
            Err(error) => {
                tracing::warn!(error = %Causes(&error), "the result of a step cannot be written");
            }
        }
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

    /// Asks the provisioner for the next step, and returns what to write about it, or `None` if the
    /// database is deleted.
    async fn step(&self, due: &Due) -> Result<Option<StepRecord>, ProvisionError> {
        let wanted = wanted(due);
        if due.database.state == PostgresState::Deleting {
            return Ok(match self.provisioner.delete(&wanted).await? {
                Progress::Done => None,
                pending @ Progress::Pending(_) => Some(Self::unfinished(due, pending)),
            });
        }
        self.approach(due, &wanted).await.map(Some)
    }

    /// Brings a database nearer to its targets, and returns what to write about it.
    async fn approach(&self, due: &Due, wanted: &Wanted) -> Result<StepRecord, ProvisionError> {
        // The provisioner is asked, not the store: an earlier step may have created the database
        // and ended before that was recorded.
        let Some(observed) = self.provisioner.observe(wanted).await? else {
            let progress = self.provisioner.create(wanted).await?;
            return Ok(Self::unfinished(due, progress));
        };
        // In each step, since rules change at any time. First, so that nobody is let in longer than
        // needed.
        self.provisioner.restrict(wanted).await?;
        // Set before the shape is compared: a reset password must not wait for a resize.
        if !due.password_is_set {
            let sealed_for = sealed_for(&due.project_id, &due.database.id);
            let password = self
                .context
                .sealer
                .open(&due.database.password, &sealed_for);
            let password =
                password.map_err(|error| ProvisionError(format!("the password: {error}")))?;
            self.provisioner
                .set_password(wanted, &Password::new(password))
                .await?;
        }
        let connection = self.provisioner.connection(wanted).await?;
        let restart = self.restarted(wanted, due).await?;
        // Before a promotion, which is of the standbys of the wanted shape. The rest of a resize may
        // wait for hours.
        let shaped = match restart {
            Progress::Done => self.shaped(wanted, observed).await?,
            // A database that restarts is not resized at the same time.
            Progress::Pending(wait) => Shaped::changing(observed, wait),
        };
        let has_standbys = shaped.observed.shape.ha_type == wanted.shape.ha_type;
        let promotion = match shaped.progress {
            Progress::Pending(_) if restart != Progress::Done || !has_standbys => shaped.progress,
            _ => self.promoted(wanted, due).await?,
        };
        let (observed, wait) = match promotion {
            Progress::Done => (shaped.observed, shaped.wait),
            Progress::Pending(wait) => {
                let observed = self.provisioner.observe(wanted).await?;
                (observed.unwrap_or(shaped.observed), wait)
            }
        };
        Ok(StepRecord {
            state: state(&observed),
            storage_size_gib: i32::try_from(observed.shape.storage_size_gib)
                .ok()
                .and_then(|gib| gib.try_into().ok())
                .ok_or_else(|| unfit("storage size"))?,
            version: PostgresVersion::from(&*observed.shape.version),
            vm_size: PostgresSize::from(&*observed.shape.vm_size),
            password_is_set: true,
            // A restart counts once it has ended, so that a crash in between asks for it again.
            restarts: match restart {
                Progress::Done => due.target_restarts,
                Progress::Pending(_) => due.restarts,
            },
            promotions: match promotion {
                Progress::Done => due.target_promotions,
                Progress::Pending(_) => due.promotions,
            },
            backups: Some(backups(&observed.backups)?),
            host: Some(connection.host),
            ca_certificates: Some(
                CaCertificates::try_from(connection.ca_certificates)
                    .map_err(|_| unfit("certificate"))?,
            ),
            earliest_restore_time: observed.earliest_restore_time,
            latest_restore_time: observed.latest_restore_time,
            used_bytes: observed.used_bytes,
            attempts: 0,
            wait,
        })
    }

    /// Restarts a database that its owner has asked to restart since it was last restarted. Restarts
    /// that were asked for meanwhile are one.
    async fn restarted(&self, wanted: &Wanted, due: &Due) -> Result<Progress, ProvisionError> {
        if due.restarts >= due.target_restarts {
            return Ok(Progress::Done);
        }
        self.provisioner.restart(wanted, due.target_restarts).await
    }

    /// Promotes a standby of a database whose owner has asked for it since the last promotion.
    /// Promotions that were asked for meanwhile are one.
    async fn promoted(&self, wanted: &Wanted, due: &Due) -> Result<Progress, ProvisionError> {
        if due.promotions >= due.target_promotions {
            return Ok(Progress::Done);
        }
        self.provisioner
            .promote(wanted, due.target_promotions)
            .await
    }

    /// Resizes a database that does not have its wanted shape.
    async fn shaped(&self, wanted: &Wanted, observed: Observed) -> Result<Shaped, ProvisionError> {
        if observed.shape == wanted.shape {
            return Ok(self.unchanging(observed));
        }
        let (now, later) = (
            observed.shape.storage_size_gib,
            wanted.shape.storage_size_gib,
        );
        if later < now && !fits(observed.used_bytes, later) {
            // More is in use than when the owner asked for the smaller storage.
            tracing::warn!(
                database = wanted.id,
                "too much is in use to shrink the storage from {now} to {later} GiB"
            );
            return Ok(self.unchanging(observed));
        }
        match self.provisioner.resize(wanted).await? {
            Progress::Pending(wait) => {
                let wait = wait.min(self.config.observe_every);
                Ok(Shaped::changing(observed, wait))
            }
            Progress::Done => {
                let observed = self.provisioner.observe(wanted).await?.unwrap_or(observed);
                let mut shaped = self.unchanging(observed);
                if shaped.observed.shape != wanted.shape {
                    shaped.wait = FIRST_WAIT;
                }
                Ok(shaped)
            }
        }
    }

    /// Returns what is observed of a database that is not being resized.
    fn unchanging(&self, observed: Observed) -> Shaped {
        Shaped {
            observed,
            progress: Progress::Done,
            wait: self.config.observe_every,
        }
    }

    /// Returns the record of a database that is still being created or deleted.
    fn unfinished(due: &Due, progress: Progress) -> StepRecord {
        let wait = match progress {
            // Due at once: the next step sets the password and records the host.
            Progress::Done => Duration::ZERO,
            Progress::Pending(wait) => wait,
        };
        StepRecord {
            attempts: 0,
            wait,
            ..unchanged(due)
        }
    }

    /// Returns the record of a database whose step failed. It waits longer after each failure, so
    /// that a provisioner that is down is not asked all the time.
    fn failed(due: &Due) -> StepRecord {
        // 2¹⁶ seconds are far beyond the longest wait, and over 31 doublings would overflow.
        let doublings = u32::try_from(due.attempts).unwrap_or(u32::MAX).min(16);
        let wait = FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT);
        StepRecord {
            attempts: due.attempts + 1,
            wait,
            ..unchanged(due)
        }
    }
}

/// What is observed of a database after it was brought nearer to its wanted shape.
struct Shaped {
    observed: Observed,
    progress: Progress,
    /// When to look again.
    wait: Duration,
}

impl Shaped {
    fn changing(observed: Observed, wait: Duration) -> Self {
        Self {
            observed,
            progress: Progress::Pending(wait),
            wait,
        }
    }
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

/// Returns a database in the provisioner's terms.
fn wanted(due: &Due) -> Wanted {
    let database = &due.database;
    let is_creating = database.state == PostgresState::Creating;
    let known = Observed {
        is_available: database.state == PostgresState::Running,
        shape: Shape {
            version: database.version.to_string(),
            vm_size: database.vm_size.to_string(),
            storage_size_gib: database.storage_size_gib.get().into(),
            ha_type: database.ha_type.to_string(),
        },
        used_bytes: database.used_bytes,
        earliest_restore_time: database.earliest_restore_time,
        latest_restore_time: database.latest_restore_time,
        backups: Vec::new(),
    };
    let restored = database.restored_from.as_ref().zip(database.restore_target);
    Wanted {
        project_id: due.project_id.to_string(),
        id: database.id.to_string(),
        location: database.location.to_string(),
        name: database.name.to_string(),
        flavor: database.flavor.to_string(),
        open_to: database
            .firewall_rules
            .iter()
            .map(|rule| rule.cidr.to_string())
            .collect(),
        shape: Shape {
            version: database.target_version.to_string(),
            vm_size: database.target_vm_size.to_string(),
            storage_size_gib: database.target_storage_size_gib.get().into(),
            ha_type: database.ha_type.to_string(),
        },
        // The contract has no other way to say that none is set.
        maintenance_window: u8::try_from(database.maintenance_window_start_at.get())
            .ok()
            .filter(|hour| *hour != 0),
        restored: restored.map(|(from, until)| Restored {
            from: from.to_string(),
            until,
        }),
        // While a database is being created, the row has what was asked for, and nobody has
        // observed it.
        known: (!is_creating).then_some(known),
    }
}

fn state(observed: &Observed) -> PostgresState {
    if observed.is_available {
        PostgresState::Running
    } else {
        PostgresState::Unavailable
    }
}

/// Returns the newest backups of a database as they are stored.
fn backups(observed: &[Backup]) -> Result<Vec<PostgresBackup>, ProvisionError> {
    let newest = observed.len().saturating_sub(MOST_BACKUPS);
    let stored = observed[newest..].iter().map(|backup| {
        let key = backup.key.as_str().try_into().ok()?;
        let last_modified = timestamp(backup.last_modified)?;
        Some(PostgresBackup::new(key, last_modified))
    });
    let stored: Option<Vec<_>> = stored.collect();
    stored.ok_or_else(|| unfit("backup"))
}

/// The error of a step whose provisioner reports what the contract has no room for.
fn unfit(what: &str) -> ProvisionError {
    ProvisionError(format!(
        "the provisioner reports a {what} that does not fit the contract"
    ))
}

/// Returns a record that changes nothing, for a database that is due at once.
fn unchanged(due: &Due) -> StepRecord {
    let database = due.database.clone();
    StepRecord {
        state: database.state,
        storage_size_gib: database.storage_size_gib,
        version: database.version,
        vm_size: database.vm_size,
        password_is_set: due.password_is_set,
        restarts: due.restarts,
        promotions: due.promotions,
        backups: None,
        host: database.host,
        ca_certificates: database.ca_certificates,
        earliest_restore_time: database.earliest_restore_time,
        latest_restore_time: database.latest_restore_time,
        used_bytes: database.used_bytes,
        attempts: due.attempts,
        wait: Duration::ZERO,
    }
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
