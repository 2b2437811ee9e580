//! Makes databases what they shall be: looks at each that is due, takes the next step, and notes what came out.
//!
//! Everything that must survive is in the store. A worker takes a database by a lease; whoever loses it (a crash, a
//! pause) can note nothing any more, and another worker asks the provisioner again. So each step happens at least
//! once, never twice at the same time while its worker is alive, and several replicas share the work.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api_types::{PostgresFirewallRule, PostgresState};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::causes::Causes;
use crate::domain::postgres::{fits, sealed_for};
use crate::operations::Context;
use crate::provision::{Observed, Password, Progress, ProvisionError, Provisioner, Shape, Wanted};
use crate::storage::database::{Due, StepRecord, free_all, prolong, settle, take_due};
use crate::storage::{self, Aborted, Change, Connection, StorageError, Store};

/// Steps at the same time in one process.
const WORKERS: usize = 16;
/// How long a failed step waits at first; each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// How long it waits at most.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// How the reconciler works.
#[derive(Debug, Clone)]
pub struct ReconcilerConfig {
    /// How long a worker may leave a database without a sign of life.
    pub lease: Duration,
    /// How often a database with nothing to do is looked at.
    pub observe_every: Duration,
    /// How often the store is asked whether anything is due.
    pub poll: Duration,
    /// How long a step may take before it counts as failed. What it has begun is asked for again.
    pub step_limit: Duration,
    /// How long steps on their way may take to end once it is told to stop.
    pub grace: Duration,
    /// Whether no other process works on this store: then what is taken at the start was left by one that died.
    pub is_alone: bool,
}

/// How many steps there were, for metrics.
#[derive(Debug, Default)]
pub struct Steps {
    /// That went well.
    pub done: AtomicU64,
    /// That failed, to be tried again.
    pub failed: AtomicU64,
    /// Whose lease was lost.
    pub lost: AtomicU64,
}

/// Makes databases what they shall be.
#[derive(Debug)]
pub struct Reconciler<P> {
    store: Store,
    context: Context,
    provisioner: P,
    config: ReconcilerConfig,
    steps: Arc<Steps>,
    /// Cancelled once no step is waited for any more.
    give_up: CancellationToken,
}

impl<P: Provisioner> Reconciler<P> {
    /// A reconciler over a store.
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
            give_up: CancellationToken::new(),
        }
    }

    /// Works until it is told to stop, and then ends what it has begun, or gives up what does not end.
    pub async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        if this.config.is_alone
            && let Err(error) = this.store.change(FreeAll).await.map_err(Aborted::failure)
        {
            tracing::warn!(error = %Causes(&error), "what was left taken is freed when it expires");
        }
        let workers = Arc::new(Semaphore::new(WORKERS));
        let tasks = TaskTracker::new();
        while !stop.is_cancelled() {
            // Nothing is taken that would have to wait for a worker while its lease runs out.
            let free = tokio::select! {
                free = all_free(&workers) => free,
                () = stop.cancelled() => break,
            };
            let wait = match this.take(free.num_permits()).await {
                Ok(None) => this.config.poll,
                Ok(Some(taken)) => {
                    this.begin(taken, free, &tasks);
                    continue;
                }
                Err(error) => {
                    tracing::warn!(error = %Causes(&error), "what is due cannot be read");
                    this.config.poll.max(FIRST_WAIT)
                }
            };
            // Whoever is told to stop does not sleep first.
            let _ = tokio::time::timeout(wait, stop.cancelled()).await;
        }
        tasks.close();
        if tokio::time::timeout(this.config.grace, tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                steps = tasks.len(),
                "steps that do not end are given up, to be taken again"
            );
            this.give_up.cancel();
            tasks.wait().await;
        }
    }

    /// Takes what is due, as much as there are free workers; `None` if nothing is.
    async fn take(&self, free: usize) -> Result<Option<Taken>, StorageError> {
        let (now, expires) = (self.context.world.now(), Instant::now() + self.config.lease);
        if !self.is_anything_due(now).await? {
            return Ok(None);
        }
        let lease = format!("{:032x}", u128::from_be_bytes(self.context.world.random()));
        let until = now.saturating_add(millis(self.config.lease));
        let limit = i64::try_from(free).unwrap_or(i64::MAX);
        let take = TakeDue {
            lease: lease.clone(),
            now,
            until,
            limit,
        };
        let due = self.store.change(take).await.map_err(Aborted::failure)?;
        Ok((!due.is_empty()).then_some(Taken {
            due,
            lease,
            expires,
        }))
    }

    /// Gives a worker to each that was taken.
    fn begin(self: &Arc<Self>, taken: Taken, mut free: OwnedSemaphorePermit, tasks: &TaskTracker) {
        for due in taken.due {
            let (this, lease, worker) = (Arc::clone(self), taken.lease.clone(), free.split(1));
            tasks.spawn(async move {
                this.work(&due, &lease, taken.expires).await;
                drop(worker);
            });
        }
    }

    async fn is_anything_due(&self, now: i64) -> Result<bool, StorageError> {
        let mut reader = self.store.reader().await?;
        storage::database::is_anything_due(&mut reader.connection(), now).await
    }

    /// Takes the next step for a database and notes what came out.
    async fn work(&self, due: &Due, lease: &str, expires: Instant) {
        let step = tokio::time::timeout(self.config.step_limit, self.step(due));
        let record = tokio::select! {
            record = step => record.unwrap_or_else(|_| Err(ProvisionError("it takes too long".to_owned()))),
            // The lease stays until it expires: whoever was asked may still be at it.
            () = self.give_up.cancelled() => return,
            () = self.keep(due, lease, expires) => {
                self.steps.lost.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(database = due.database.id, "the lease has ended, so the step is given up");
                return;
            }
        };
        let record = match record {
            Ok(record) => {
                self.steps.done.fetch_add(1, Ordering::Relaxed);
                record
            }
            Err(error) => {
                self.steps.failed.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    database = due.database.id,
                    attempts = due.attempts + 1,
                    "a step failed: {error}"
                );
                self.failed(due)
            }
        };
        let settle = Settle {
            due: due.clone(),
            lease: lease.to_owned(),
            record,
        };
        match self.store.change(settle).await.map_err(Aborted::failure) {
            Ok(true) => {}
            Ok(false) => {
                self.steps.lost.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(database = due.database.id, "another worker has taken over");
            }
            // The lease expires, and the step is taken again.
            Err(error) => {
                tracing::warn!(error = %Causes(&error), "a step's record cannot be noted");
            }
        }
    }

    /// Prolongs a lease for as long as it holds. Where the store does not say that it does, it ends when it would.
    async fn keep(&self, due: &Due, lease: &str, mut expires: Instant) {
        let mut wait = self.config.lease / 3;
        loop {
            tokio::time::sleep(wait.min(expires.saturating_duration_since(Instant::now()))).await;
            let (asked, now) = (Instant::now(), self.context.world.now());
            let until = now.saturating_add(millis(self.config.lease));
            let prolong = Prolong {
                due: due.clone(),
                lease: lease.to_owned(),
                until,
            };
            wait = match tokio::time::timeout_at(expires, self.store.change(prolong)).await {
                Ok(Ok(true)) => {
                    expires = asked + self.config.lease;
                    self.config.lease / 3
                }
                Ok(Ok(false)) | Err(_) => return,
                Ok(Err(_)) if Instant::now() >= expires => return,
                Ok(Err(_)) => self.config.lease / 10,
            };
        }
    }

    /// Asks the provisioner for whatever comes next.
    async fn step(&self, due: &Due) -> Result<StepRecord, ProvisionError> {
        let wanted = wanted(due)?;
        let Some(observed) = self.provisioner.observe(&wanted).await? else {
            let progress = self.provisioner.create(&wanted).await?;
            return Ok(self.unfinished(due, progress));
        };
        if !due.password_is_set {
            let sealed_for = sealed_for(&due.project_id, &due.database.id);
            let password = self
                .context
                .sealer
                .open(&due.database.password, &sealed_for);
            let password =
                password.map_err(|error| ProvisionError(format!("the password: {error}")))?;
            self.provisioner
                .set_password(&wanted, &Password::new(password))
                .await?;
        }
        let connection = self.provisioner.connection(&wanted).await?;
        let (observed, wait) = self.shaped(&wanted, observed).await?;
        Ok(StepRecord {
            state: state(&observed).as_str().to_owned(),
            storage_size_gib: observed.shape.storage_size_gib,
            version: observed.shape.version,
            vm_size: observed.shape.vm_size,
            password_is_set: true,
            host: Some(connection.host),
            ca_certificates: Some(connection.ca_certificates),
            earliest_restore_time: observed.earliest_restore_time,
            latest_restore_time: observed.latest_restore_time,
            used_bytes: observed.used_bytes,
            attempts: 0,
            due_at: Some(self.after(wait)),
        })
    }

    /// Brings a database nearer to its targets; tells what it is then, and when to look again.
    async fn shaped(
        &self,
        wanted: &Wanted,
        observed: Observed,
    ) -> Result<(Observed, Duration), ProvisionError> {
        if observed.shape == wanted.shape {
            return Ok((observed, self.config.observe_every));
        }
        let (now, later) = (
            observed.shape.storage_size_gib,
            wanted.shape.storage_size_gib,
        );
        if later < now && !fits(observed.used_bytes, later) {
            // More is in use than was known when this was asked for.
            tracing::warn!(
                database = wanted.id,
                "too much is in use to shrink the storage from {now} to {later} GiB"
            );
            return Ok((observed, self.config.observe_every));
        }
        match self.provisioner.resize(wanted).await? {
            Progress::Pending(wait) => Ok((observed, wait)),
            Progress::Done => {
                let observed = self.provisioner.observe(wanted).await?.unwrap_or(observed);
                let wait = if observed.shape == wanted.shape {
                    self.config.observe_every
                } else {
                    FIRST_WAIT
                };
                Ok((observed, wait))
            }
        }
    }

    /// A database that is still being made.
    fn unfinished(&self, due: &Due, progress: Progress) -> StepRecord {
        let wait = match progress {
            Progress::Done => Duration::ZERO,
            Progress::Pending(wait) => wait,
        };
        StepRecord {
            attempts: 0,
            due_at: Some(self.after(wait)),
            ..unchanged(due)
        }
    }

    /// A database whose step failed: it waits, longer each time.
    fn failed(&self, due: &Due) -> StepRecord {
        let doublings = u32::try_from(due.attempts).unwrap_or(u32::MAX).min(16);
        let wait = FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT);
        StepRecord {
            attempts: due.attempts + 1,
            due_at: Some(self.after(wait)),
            ..unchanged(due)
        }
    }

    fn after(&self, wait: Duration) -> i64 {
        self.context.world.now().saturating_add(millis(wait))
    }
}

/// Waits for a free worker, and takes all that are.
async fn all_free(workers: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let Ok(mut free) = Arc::clone(workers).acquire_owned().await else {
        unreachable!("nobody closes it")
    };
    let others = u32::try_from(workers.available_permits()).unwrap_or_default();
    if let Ok(others) = Arc::clone(workers).try_acquire_many_owned(others) {
        free.merge(others);
    }
    free
}

/// Databases that were taken together.
struct Taken {
    due: Vec<Due>,
    lease: String,
    /// When the lease ends at the earliest.
    expires: Instant,
}

/// What the provisioner is told of a database.
fn wanted(due: &Due) -> Result<Wanted, ProvisionError> {
    let database = &due.database;
    let rules: Vec<PostgresFirewallRule> = serde_json::from_str(&database.firewall_rules)
        .map_err(|error| ProvisionError(format!("the stored firewall rules: {error}")))?;
    let is_creating = database.state == PostgresState::Creating.as_str();
    let known = Observed {
        is_available: database.state == PostgresState::Running.as_str(),
        shape: Shape {
            version: database.version.clone(),
            vm_size: database.vm_size.clone(),
            storage_size_gib: database.storage_size_gib,
            ha_type: database.ha_type.clone(),
        },
        used_bytes: database.used_bytes,
        earliest_restore_time: database.earliest_restore_time,
        latest_restore_time: database.latest_restore_time,
    };
    Ok(Wanted {
        project_id: due.project_id.clone(),
        id: database.id.clone(),
        location: database.location.clone(),
        name: database.name.clone(),
        flavor: database.flavor.clone(),
        open_to: rules
            .into_iter()
            .map(|rule| rule.cidr.to_string())
            .collect(),
        shape: Shape {
            version: database.target_version.clone(),
            vm_size: database.target_vm_size.clone(),
            storage_size_gib: database.target_storage_size_gib,
            ha_type: database.ha_type.clone(),
        },
        known: (!is_creating).then_some(known),
    })
}

fn state(observed: &Observed) -> PostgresState {
    if observed.is_available {
        PostgresState::Running
    } else {
        PostgresState::Unavailable
    }
}

/// A database as it was.
fn unchanged(due: &Due) -> StepRecord {
    let database = due.database.clone();
    StepRecord {
        state: database.state,
        storage_size_gib: database.storage_size_gib,
        version: database.version,
        vm_size: database.vm_size,
        password_is_set: due.password_is_set,
        host: database.host,
        ca_certificates: database.ca_certificates,
        earliest_restore_time: database.earliest_restore_time,
        latest_restore_time: database.latest_restore_time,
        used_bytes: database.used_bytes,
        attempts: due.attempts,
        due_at: None,
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

struct TakeDue {
    lease: String,
    now: i64,
    until: i64,
    limit: i64,
}

impl Change for TakeDue {
    type Output = Vec<Due>;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Vec<Due>, Aborted<Infallible>> {
        Ok(take_due(tx, &self.lease, self.now, self.until, self.limit).await?)
    }
}

struct Settle {
    due: Due,
    lease: String,
    record: StepRecord,
}

impl Change for Settle {
    type Output = bool;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<bool, Aborted<Infallible>> {
        Ok(settle(tx, &self.due, &self.lease, &self.record).await?)
    }
}

struct Prolong {
    due: Due,
    lease: String,
    until: i64,
}

impl Change for Prolong {
    type Output = bool;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<bool, Aborted<Infallible>> {
        Ok(prolong(tx, &self.due, &self.lease, self.until).await?)
    }
}

struct FreeAll;

impl Change for FreeAll {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        Ok(free_all(tx).await?)
    }
}
