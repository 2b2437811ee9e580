//! A provisioner that makes nothing and takes its time for it: delays, failures and outages from a seed.
//!
//! What it has made is in its memory alone. After a restart, or where another replica has gone on with a database, it
//! believes what the service has noted: a database that ran before runs again, one that was being created is begun
//! anew.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::authority::Authority;
use super::{
    ConnectionDetails, Observed, Password, Progress, ProvisionError, Provisioner, Shape, Wanted,
};
use crate::world::World;

/// How it behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatorConfig {
    /// How long a step takes at least.
    pub delay: Duration,
    /// How much longer it may take.
    pub jitter: Duration,
    /// Of a hundred steps, how many fail.
    pub failures: u8,
    /// Of a hundred looks at a running database, how many find that an outage begins.
    pub outages: u8,
    /// How full databases are, in percent of the storage that they were made with.
    pub used: u8,
    /// What all of this is drawn from, for each database by its project, location and name: whoever asks for the same
    /// databases again sees the same again.
    pub seed: u64,
    /// The domain that host names end in.
    pub service_domain: String,
}

/// The provisioner that simulates.
pub struct Simulator {
    config: SimulatorConfig,
    world: World,
    authority: Authority,
    databases: Mutex<HashMap<String, Simulated>>,
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// A database that there is not. Times are in milliseconds since 1970.
#[derive(Debug, Clone)]
struct Simulated {
    shape: Shape,
    /// The shape that the service had noted when it last asked.
    noted: Option<Shape>,
    /// When what goes on will be done, and what the database will be then.
    pending: Option<(i64, Shape)>,
    is_created: bool,
    created_at: i64,
    used_bytes: i64,
    down_until: i64,
    server_certificate: Option<String>,
    /// How often something was drawn for it.
    draws: u64,
}

impl Simulator {
    /// A simulator whose databases have certificates of this authority.
    #[must_use]
    pub fn new(config: SimulatorConfig, world: World, authority: Authority) -> Self {
        Self {
            config,
            world,
            authority,
            databases: Mutex::default(),
        }
    }

    fn databases(&self) -> MutexGuard<'_, HashMap<String, Simulated>> {
        self.databases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A number below `below`, the same for the same seed, database and turn.
    fn draw(&self, wanted: &Wanted, database: &mut Simulated, below: u64) -> u64 {
        database.draws += 1;
        // Neither ids nor locations nor names have a slash.
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

    fn fail_perhaps(
        &self,
        wanted: &Wanted,
        database: &mut Simulated,
    ) -> Result<(), ProvisionError> {
        if self.draw(wanted, database, 100) < u64::from(self.config.failures) {
            return Err(ProvisionError("a simulated failure".to_owned()));
        }
        Ok(())
    }

    /// A time for a step, from now.
    fn time(&self, wanted: &Wanted, database: &mut Simulated) -> i64 {
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

    /// A database that nobody has made yet.
    fn unmade(&self, shape: &Shape) -> Simulated {
        Simulated {
            shape: shape.clone(),
            noted: None,
            pending: None,
            is_created: false,
            created_at: self.world.now(),
            used_bytes: self.used_bytes(shape),
            down_until: 0,
            server_certificate: None,
            draws: 0,
        }
    }

    /// Believes what the service has noted, if that is news: a process before this one, or another replica, was here.
    fn believe(&self, databases: &mut HashMap<String, Simulated>, wanted: &Wanted) {
        let Some(known) = &wanted.known else { return };
        let database = databases
            .entry(wanted.id.clone())
            .or_insert_with(|| self.unmade(&known.shape));
        // How it stays available is nowhere noted, so there is no news of that.
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
            .noted
            .as_ref()
            .is_some_and(|noted| is_alike(noted, &shape))
            && !is_alike(&database.shape, &shape)
        {
            database.pending = None;
            database.shape = shape;
        }
        database.noted = Some(known.shape.clone());
    }

    /// Lets what is pending be done, if its time has come.
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
}

/// Whether two are alike but for how they stay available.
fn is_alike(one: &Shape, other: &Shape) -> bool {
    (&one.version, &one.vm_size, one.storage_size_gib)
        == (&other.version, &other.vm_size, other.storage_size_gib)
}

impl Provisioner for Simulator {
    async fn observe(&self, wanted: &Wanted) -> Result<Option<Observed>, ProvisionError> {
        let now = self.world.now();
        let mut databases = self.databases();
        self.believe(&mut databases, wanted);
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
            database.down_until = self.time(wanted, database);
        }
        Ok(Some(Observed {
            is_available: database.down_until <= now,
            shape: database.shape.clone(),
            used_bytes: database.used_bytes,
            // The first backup is made as soon as there is something to back up.
            earliest_restore_time: Some(database.created_at / 1000),
            latest_restore_time: now / 1000,
        }))
    }

    async fn create(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let mut databases = self.databases();
        let database = databases
            .entry(wanted.id.clone())
            .or_insert_with(|| self.unmade(&wanted.shape));
        if !database.is_created && database.pending.is_none() {
            self.fail_perhaps(wanted, database)?;
            database.pending = Some((self.time(wanted, database), wanted.shape.clone()));
        }
        Ok(self.advance(database))
    }

    async fn resize(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let mut databases = self.databases();
        self.believe(&mut databases, wanted);
        let database = databases
            .get_mut(&wanted.id)
            .ok_or_else(|| ProvisionError("there is none".to_owned()))?;
        let is_on_its_way = database
            .pending
            .as_ref()
            .is_some_and(|(_, shape)| *shape == wanted.shape);
        if database.shape != wanted.shape && !is_on_its_way {
            self.fail_perhaps(wanted, database)?;
            database.pending = Some((self.time(wanted, database), wanted.shape.clone()));
        }
        Ok(self.advance(database))
    }

    async fn set_password(&self, wanted: &Wanted, _: &Password) -> Result<(), ProvisionError> {
        let mut databases = self.databases();
        let database = databases
            .get_mut(&wanted.id)
            .ok_or_else(|| ProvisionError("there is none".to_owned()))?;
        self.fail_perhaps(wanted, database)
    }

    async fn connection(&self, wanted: &Wanted) -> Result<ConnectionDetails, ProvisionError> {
        let mut databases = self.databases();
        let database = databases
            .get_mut(&wanted.id)
            .ok_or_else(|| ProvisionError("there is none".to_owned()))?;
        let host = format!(
            "{}.{}.{}",
            wanted.name, wanted.id, self.config.service_domain
        );
        let server_certificate = match &database.server_certificate {
            Some(certificate) => certificate.clone(),
            None => self
                .authority
                .issue(&host)
                .map_err(|error| ProvisionError(format!("{error:#}")))?,
        };
        database.server_certificate = Some(server_certificate.clone());
        Ok(ConnectionDetails {
            host,
            ca_certificates: self.authority.certificate().to_owned(),
            server_certificate,
        })
    }
}
