//! A simulated provisioner: creates no databases, but takes time, fails and has outages as if it
//! did.
//!
//! It keeps its databases in memory only, and for an hour after the last call about them. After a restart, or when another replica has worked on a
//! database, it adopts the state that the service has recorded: a database that was running is
//! running again, and a creation that was in progress starts again.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::authority::Authority;
use super::{
    Backup, ConnectionDetails, Observed, Password, Progress, ProvisionError, Provisioner, Shape,
    Wanted,
};
use crate::world::World;

/// After how long a database is forgotten that no call is about, in milliseconds.
const FORGOTTEN_AFTER: i64 = 60 * 60 * 1000;

/// The settings of the simulated provisioner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatorConfig {
    /// The minimum duration of the creation or the resize of a database.
    pub delay: Duration,
    /// The maximum of the random time that is added to `delay`.
    pub jitter: Duration,
    /// The percentage of attempts to create a database, to resize, restart, promote or delete it or to
    /// set its password that fail.
    pub failures: u8,
    /// The percentage of observations of a running database that start an outage.
    pub outages: u8,
    /// How full databases are, in percent of the storage that they were created with.
    pub used: u8,
    /// The seed of all random numbers. Each database has a sequence of its own, which depends on
    /// the seed and on the project, location and name. The same databases behave the same in every
    /// run.
    pub seed: u64,
    /// The domain that the host names of databases end in.
    pub service_domain: String,
}

/// A [`Provisioner`] that simulates databases in memory.
pub struct Simulator {
    config: SimulatorConfig,
    world: World,
    authority: Authority,
    /// The databases by their id.
    databases: Mutex<HashMap<String, Simulated>>,
    /// When databases were last forgotten, in milliseconds since 1970.
    forgot_at: AtomicI64,
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// A simulated database. Times are in milliseconds since 1970.
#[derive(Debug, Clone)]
struct Simulated {
    shape: Shape,
    /// The shape that the service had recorded for the database at its last call of this simulator,
    /// or `None` if it had recorded none.
    recorded: Option<Shape>,
    /// The creation or resize in progress: the time when it completes, and the shape that the
    /// database then has.
    pending: Option<(i64, Shape)>,
    is_created: bool,
    created_at: i64,
    used_bytes: i64,
    down_until: i64,
    /// The number of the last restart that has started.
    restarts: i64,
    /// The number of the last promotion of a standby that has started.
    promotions: i64,
    server_certificate: Option<String>,
    /// When the deletion in progress completes.
    deleted_at: Option<i64>,
    /// The number of random numbers drawn for this database so far.
    draws: u64,
    /// When the last call was about this database.
    called_at: i64,
}

impl Simulated {
    /// Returns when the last call was, or the last thing ends that is in progress.
    fn busy_until(&self) -> i64 {
        let pending = self.pending.as_ref().map_or(0, |(at, _)| *at);
        let deleted = self.deleted_at.unwrap_or_default();
        self.called_at
            .max(pending)
            .max(self.down_until)
            .max(deleted)
    }
}

impl Simulator {
    /// Creates a simulator whose databases have certificates from an authority.
    #[must_use]
    pub fn new(config: SimulatorConfig, world: World, authority: Authority) -> Self {
        Self {
            config,
            world,
            authority,
            databases: Mutex::default(),
            forgot_at: AtomicI64::new(0),
        }
    }

    /// Returns all databases, for a call about one of them. Forgets those that no call was about for long:
    /// another replica may have deleted them. A call about one that is forgotten adopts it again.
    fn databases(&self, wanted: &Wanted) -> MutexGuard<'_, HashMap<String, Simulated>> {
        let now = self.world.now();
        let mut databases = self
            .databases
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = databases.get_mut(&wanted.id) {
            database.called_at = now;
        }
        let forgot_at = self.forgot_at.load(Ordering::Relaxed);
        if now.saturating_sub(forgot_at).abs() >= FORGOTTEN_AFTER {
            self.forgot_at.store(now, Ordering::Relaxed);
            databases.retain(|_, database| now - database.busy_until() < FORGOTTEN_AFTER);
        }
        databases
    }

    /// Draws the next random number of a database, less than `below`.
    ///
    /// The number is a hash of the seed, the database and the position in its sequence. A generator
    /// with state would make the sequence of a database depend on the order in which workers call
    /// for different databases.
    fn draw(&self, wanted: &Wanted, database: &mut Simulated, below: u64) -> u64 {
        database.draws += 1;
        // The slash is unambiguous: ids, locations and names cannot contain it.
        let hash = Sha256::new()
            .chain_update(self.config.seed.to_le_bytes())
            .chain_update(format!(
                "{}/{}/{}",
                wanted.project_id, wanted.location, wanted.name
            ))
            .chain_update(database.draws.to_le_bytes())
            .finalize();
        let drawn = hash
            .first_chunk::<8>()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes));
        drawn % below.max(1)
    }

    /// Returns an error at random, in the configured percentage of calls.
    fn maybe_fail(&self, wanted: &Wanted, database: &mut Simulated) -> Result<(), ProvisionError> {
        if self.draw(wanted, database, 100) < u64::from(self.config.failures) {
            return Err(ProvisionError::Failed("simulated failure".to_owned()));
        }
        Ok(())
    }

    /// Returns the time when a creation, resize, restart, deletion or outage that starts now ends, in milliseconds
    /// since 1970: after the delay and a random part of the jitter.
    fn completion(&self, wanted: &Wanted, database: &mut Simulated) -> i64 {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let more = self.draw(
            wanted,
            database,
            millis(self.config.jitter).saturating_add(1),
        );
        let takes = millis(self.config.delay).saturating_add(more);
        self.world
            .now()
            .saturating_add(i64::try_from(takes).unwrap_or(i64::MAX))
    }

    fn used_bytes(&self, shape: &Shape) -> i64 {
        (shape.storage_size_gib << 30) / 100 * i64::from(self.config.used)
    }

    /// Returns the initial state of a database, before it is created.
    fn uncreated(&self, shape: &Shape) -> Simulated {
        Simulated {
            shape: shape.clone(),
            recorded: None,
            pending: None,
            is_created: false,
            created_at: self.world.now(),
            used_bytes: self.used_bytes(shape),
            down_until: 0,
            restarts: 0,
            promotions: 0,
            server_certificate: None,
            deleted_at: None,
            draws: 0,
            called_at: self.world.now(),
        }
    }

    /// Sets a database to the state that the service has recorded for it (`known`), if that state
    /// comes from a previous process or from another replica. Does nothing if no state is recorded.
    fn adopt(&self, databases: &mut HashMap<String, Simulated>, wanted: &Wanted) {
        let Some(known) = &wanted.known else { return };
        let database = databases
            .entry(wanted.id.clone())
            .or_insert_with(|| self.uncreated(&known.shape));
        // The service does not record `ha_type`: what it gives here is the wanted one.
        let shape = Shape {
            ha_type: database.shape.ha_type.clone(),
            ..known.shape.clone()
        };
        if !database.is_created {
            database.is_created = true;
            database.pending = None;
            database.used_bytes = known.used_bytes;
            database.created_at = known
                .earliest_restore_time
                .map_or(database.created_at, |time| time * 1000);
            database.shape = shape;
        } else if !database
            .recorded
            .as_ref()
            .is_some_and(|recorded| is_alike(recorded, &shape))
            && !is_alike(&database.shape, &shape)
        {
            // Not if the record is the same as at the last call: then it is older than what this
            // simulator has done since, and must not undo it.
            database.pending = None;
            database.shape = shape;
        }
        database.recorded = Some(known.shape.clone());
    }

    /// Completes the creation or resize in progress if its time has come. Returns `Done` if none is
    /// in progress any more.
    fn advance(&self, database: &mut Simulated) -> Progress {
        let now = self.world.now();
        match database.pending.take() {
            None => Progress::Done,
            Some((at, shape)) if at <= now => {
                database.shape = shape;
                database.is_created = true;
                Progress::Done
            }
            Some((at, shape)) => {
                database.pending = Some((at, shape));
                Progress::Pending(Duration::from_millis(
                    u64::try_from(at - now).unwrap_or_default(),
                ))
            }
        }
    }

    /// Starts an outage, unless the one with this number has started already, and returns when it
    /// ends. `last` returns the number of the last one of its kind.
    fn interrupt(
        &self,
        wanted: &Wanted,
        number: i64,
        last: impl Fn(&mut Simulated) -> &mut i64,
    ) -> Result<Progress, ProvisionError> {
        let mut databases = self.databases(wanted);
        self.adopt(&mut databases, wanted);
        let database = databases
            .get_mut(&wanted.id)
            .ok_or_else(ProvisionError::no_database)?;
        // A step may run again after a crash, with the same number, and must not interrupt it
        // twice.
        if *last(database) < number {
            self.maybe_fail(wanted, database)?;
            *last(database) = number;
            database.down_until = self.completion(wanted, database);
        }
        let left = u64::try_from(database.down_until - self.world.now()).unwrap_or_default();
        Ok(match left {
            0 => Progress::Done,
            left => Progress::Pending(Duration::from_millis(left)),
        })
    }
}

/// Returns the backups of a database: one of its creation, which is kept for ever, and one of each
/// day of the last week. Times are in milliseconds since 1970.
fn backups(created_at: i64, now: i64) -> Vec<Backup> {
    const DAY: i64 = 24 * 60 * 60;
    const KEPT: i64 = 7;
    let (first, days) = (created_at / 1000, (now - created_at) / 1000 / DAY);
    let backup = |day: i64| Backup {
        // As long as there are ten digits, later keys are greater.
        key: format!("simulated-{:010}", first + day * DAY),
        last_modified: first + day * DAY,
    };
    let latest = (days - KEPT + 1).max(1)..=days;
    std::iter::once(0).chain(latest).map(backup).collect()
}

/// Returns whether two shapes are equal apart from `ha_type`.
fn is_alike(one: &Shape, other: &Shape) -> bool {
    (&one.version, &one.vm_size, one.storage_size_gib)
        == (&other.version, &other.vm_size, other.storage_size_gib)
}

impl Provisioner for Simulator {
    async fn observe(&self, wanted: &Wanted) -> Result<Option<Observed>, ProvisionError> {
        let now = self.world.now();
        let mut databases = self.databases(wanted);
        self.adopt(&mut databases, wanted);
        let Some(database) = databases.get_mut(&wanted.id) else {
            return Ok(None);
        };
        self.advance(database);
        if !database.is_created {
            return Ok(None);
        }
        if database.down_until <= now
            && self.draw(wanted, database, 100) < u64::from(self.config.outages)
        {
            database.down_until = self.completion(wanted, database);
        }
        let backups = backups(database.created_at, now);
        Ok(Some(Observed {
            is_available: database.down_until <= now,
            shape: database.shape.clone(),
            used_bytes: database.used_bytes,
            earliest_restore_time: backups.first().map(|backup| backup.last_modified),
            latest_restore_time: now / 1000,
            backups,
        }))
    }

    async fn create(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let mut databases = self.databases(wanted);
        let database = databases
            .entry(wanted.id.clone())
            .or_insert_with(|| self.uncreated(&wanted.shape));
        if !database.is_created && database.pending.is_none() {
            self.maybe_fail(wanted, database)?;
            database.pending = Some((self.completion(wanted, database), wanted.shape.clone()));
        }
        Ok(self.advance(database))
    }

    async fn resize(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let mut databases = self.databases(wanted);
        self.adopt(&mut databases, wanted);
        let database = databases
            .get_mut(&wanted.id)
            .ok_or_else(ProvisionError::no_database)?;
        if wanted.shape.is_older_than(&database.shape) {
            return Err(ProvisionError::Failed(format!(
                "the database has version {} and cannot go back to {}",
                database.shape.version, wanted.shape.version
            )));
        }
        let now = self.world.now();
        let shape = wanted.shape_at(now, &database.shape);
        // Also if the maintenance window has ended since.
        let is_in_progress = database
            .pending
            .as_ref()
            .is_some_and(|(_, pending)| *pending == shape || *pending == wanted.shape);
        if database.shape != shape && !is_in_progress {
            self.maybe_fail(wanted, database)?;
            database.pending = Some((self.completion(wanted, database), shape));
        }
        Ok(
            match (self.advance(database), wanted.until_maintenance(now)) {
                (Progress::Done, Some(wait)) if database.shape != wanted.shape => {
                    Progress::Pending(wait)
                }
                (progress, _) => progress,
            },
        )
    }

    async fn restart(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        self.interrupt(wanted, number, |database| &mut database.restarts)
    }

    async fn promote(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        if wanted.shape.ha_type == "none" {
            let mut databases = self.databases(wanted);
            self.adopt(&mut databases, wanted);
            let exists = databases.contains_key(&wanted.id);
            return exists
                .then_some(Progress::Done)
                .ok_or_else(ProvisionError::no_database);
        }
        self.interrupt(wanted, number, |database| &mut database.promotions)
    }

    /// A database that this process does not know is gone at once.
    async fn delete(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let mut databases = self.databases(wanted);
        let Some(database) = databases.get_mut(&wanted.id) else {
            return Ok(Progress::Done);
        };
        let at = if let Some(at) = database.deleted_at {
            at
        } else {
            self.maybe_fail(wanted, database)?;
            self.completion(wanted, database)
        };
        database.deleted_at = Some(at);
        let left = u64::try_from(at - self.world.now()).unwrap_or_default();
        if left > 0 {
            return Ok(Progress::Pending(Duration::from_millis(left)));
        }
        databases.remove(&wanted.id);
        Ok(Progress::Done)
    }

    /// Only checks that the database exists: nobody can connect to a simulated one.
    async fn restrict(&self, wanted: &Wanted) -> Result<(), ProvisionError> {
        let mut databases = self.databases(wanted);
        self.adopt(&mut databases, wanted);
        if databases.contains_key(&wanted.id) {
            Ok(())
        } else {
            Err(ProvisionError::no_database())
        }
    }

    async fn set_password(&self, wanted: &Wanted, _: &Password) -> Result<(), ProvisionError> {
        let mut databases = self.databases(wanted);
        let database = databases
            .get_mut(&wanted.id)
            .ok_or_else(ProvisionError::no_database)?;
        self.maybe_fail(wanted, database)
    }

    async fn connection(&self, wanted: &Wanted) -> Result<ConnectionDetails, ProvisionError> {
        let mut databases = self.databases(wanted);
        let database = databases
            .get_mut(&wanted.id)
            .ok_or_else(ProvisionError::no_database)?;
        let host = format!(
            "{}.{}.{}",
            wanted.name, wanted.id, self.config.service_domain
        );
        let server_certificate = match &database.server_certificate {
            Some(certificate) => certificate.clone(),
            None => self
                .authority
                .issue(&host)
                .map(|issued| issued.certificate)
                .map_err(|error| ProvisionError::Failed(format!("{error:#}")))?,
        };
        database.server_certificate = Some(server_certificate.clone());
        Ok(ConnectionDetails {
            host,
            ca_certificates: self.authority.certificate().to_owned(),
            server_certificate,
        })
    }
}
