//! Runs a PostgreSQL server for each database on this machine, at its own address, with its standbys.
//!
//! What the service knows of a database is in the database's folder, so that a service that was
//! killed continues where it was. Each step holds a lock on the folder. The programs that make a
//! cluster hold it too, so a step waits for those of an earlier process. Those that copy a cluster for a
//! standby hold another lock, since that takes as long as the database is large, and no step waits for it.

mod access;
mod address;
mod applied;
mod backup;
mod binaries;
mod bounded;
mod certificate;
mod cluster;
mod configuration;
mod control;
mod creation;
mod files;
mod folder;
mod member;
mod owner;
mod places;
mod removal;
mod replication;
mod server;
mod session;
mod setup;
mod size;
mod storage;
mod supervisor;
mod upgrade;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api_types::PostgresFlavor;
use futures_util::{StreamExt as _, stream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

pub use address::Addresses;
pub use backup::restore_files;
pub use binaries::{Binaries, CannotUpgrade};
pub use folder::FolderError;
pub use owner::{Owner, OwnerError, Sharing};

use super::authority::Authority;
use super::{
    ConnectionDetails, Events, Observed, Password, Progress, ProvisionError, Provisioner, Shape,
    Wanted,
};
use crate::domain::catalogue;
use crate::domain::refusal::enumerate;
use crate::world::World;
use creation::Restorations;
use folder::{Database, Folder, Locked};
use member::DATA;
use places::Places;
use upgrade::{During, PAUSE, Upgrades};

/// How long a step waits for a step of an earlier process, or for the supervisor.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The number of standbys that are copied at the same time.
const COPIES: usize = 2;

/// The number of events that are kept for those who follow them. Who is further behind loses the earlier ones.
const EVENTS: usize = 1024;

/// The settings of the local provisioner.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// The folder that holds the databases.
    pub folder: PathBuf,
    /// The programs of the versions of PostgreSQL that are installed.
    pub binaries: Binaries,
    /// The addresses that databases get, on port 5432.
    pub addresses: Addresses,
    /// The users of the operating system that servers run as.
    pub owner: Owner,
    /// How many bytes of this machine's storage a database gets for each GiB of its size.
    pub bytes_per_gib: u64,
    /// The folder that holds the backups.
    pub backup_folder: PathBuf,
    /// How often a database that changes is copied as a whole.
    pub backup_every: Duration,
}

/// A [`Provisioner`] that runs PostgreSQL servers on this machine.
#[derive(Clone)]
pub struct Local(Arc<Inner>);

struct Inner {
    config: LocalConfig,
    folder: Folder,
    authority: Authority,
    world: World,
    /// The places of databases whose clusters are copied for a standby.
    copying: Places,
    /// The places of databases that are backed up.
    backing_up: Places,
    /// The replication slots of each database that no standby reads, and since when.
    unread_slots: Mutex<HashMap<String, HashMap<String, Instant>>>,
    /// The upgrades that are in progress.
    upgrades: Upgrades,
    /// The restorations that are in progress.
    restorations: Restorations,
    /// The databases whose backups take more room than they may.
    full_archives: Mutex<HashSet<String>>,
    /// The ids of databases that the supervisor has found or made to change.
    changed: broadcast::Sender<String>,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}

impl Local {
    /// Creates a provisioner whose servers have certificates from an authority. Creates its folder
    /// if that is not there.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used.
    pub fn open(
        config: LocalConfig,
        authority: Authority,
        world: World,
    ) -> Result<Self, FolderError> {
        let folder = Folder::open(&config.folder)?;
        let backup_folder = folder::open(&config.backup_folder)?;
        let config = LocalConfig {
            backup_folder,
            ..config
        };
        Ok(Self(Arc::new(Inner {
            config,
            folder,
            authority,
            world,
            copying: Places::new(COPIES),
            backing_up: Places::new(backup::COPIES),
            unread_slots: Mutex::default(),
            upgrades: Upgrades::default(),
            restorations: Restorations::default(),
            full_archives: Mutex::default(),
            changed: broadcast::Sender::new(EVENTS),
        })))
    }

    /// The flavor that databases can have: the programs of distributions have no extensions of others.
    pub const FLAVOR: PostgresFlavor = PostgresFlavor::Standard;

    /// Returns the versions of PostgreSQL that databases can have.
    pub fn versions(&self) -> impl Iterator<Item = &'static str> {
        self.0.config.binaries.versions()
    }

    /// Returns each version with those that databases can be upgraded to from it.
    pub fn offered_upgrades(&self) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
        self.0.config.binaries.upgrades()
    }

    /// Locks a database for a step, and reads its record.
    async fn load(&self, wanted: &Wanted) -> Result<Database, ProvisionError> {
        let database = self.lookup(wanted).await?;
        database.ok_or_else(ProvisionError::no_database)
    }

    /// Locks a database for a step, and reads its record. Returns `None` if it is not created.
    async fn lookup(&self, wanted: &Wanted) -> Result<Option<Database>, ProvisionError> {
        // The task of a restoration has the lock.
        if self.is_being_restored(&wanted.id) || !self.0.folder.has(&wanted.id)? {
            return Ok(None);
        }
        self.await_check(&wanted.id).await?;
        let locked = self.0.lock(&wanted.id).await?;
        let Some(record) = locked.read()?.filter(|record| record.is_created) else {
            return Ok(None);
        };
        let mut database = Database { locked, record };
        if database.record.project.is_none() {
            database.record.project = Some(wanted.project_id.clone());
            database.write()?;
        }
        self.0.settle(&mut database).await?;
        Ok(Some(database))
    }
}

impl Inner {
    /// Tells those who follow events that a database has changed.
    fn tell(&self, id: &str) {
        // An error if nobody does, which is fine.
        let _ = self.changed.send(id.to_owned());
    }

    /// Locks a database for a step. Waits for at most [`LOCK_WAIT`]: the supervisor may wait for a server
    /// that recovers, and a program of an earlier process may still run.
    async fn lock(&self, id: &str) -> Result<Locked, ProvisionError> {
        let begun = Instant::now();
        loop {
            if let Some(locked) = self.folder.lock(id)? {
                return Ok(locked);
            }
            if begun.elapsed() > LOCK_WAIT {
                let reason = "an earlier step for this database has not ended yet".to_owned();
                let wait = LOCK_WAIT;
                return Err(ProvisionError::Busy { reason, wait });
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Locks a database that is to be deleted. If it stays locked, ends all programs of its user first:
    /// its owner may have got hold of a lock that a program of an earlier step has inherited.
    async fn lock_to_delete(&self, id: &str) -> Result<Locked, ProvisionError> {
        let record = folder::read(&self.folder.path(id)?)?;
        match (self.lock(id).await, record.and_then(|record| record.user)) {
            (Err(_), Some(user)) => {
                server::end_user(user).await?;
                self.lock(id).await
            }
            (locked, _) => locked,
        }
    }
}

/// Checks that a database is to be plain PostgreSQL: it would lack the extensions of another flavor.
fn ensure_flavor(flavor: &str) -> Result<(), ProvisionError> {
    let offered = Local::FLAVOR.to_string();
    if flavor == offered {
        return Ok(());
    }
    Err(ProvisionError::Failed(format!(
        "the flavor {flavor:?} is not {offered}, the only one of databases on this machine"
    )))
}

/// Checks that a database can get a size and a kind of high availability: others would get a size and
/// standbys that nobody asked for.
fn ensure_supported(shape: &Shape) -> Result<(), ProvisionError> {
    let Shape {
        vm_size, ha_type, ..
    } = shape;
    if !catalogue::sizes().any(|size| size.as_str() == vm_size) {
        let sizes: Vec<_> = catalogue::sizes().collect();
        return Err(ProvisionError::Failed(format!(
            "the size {vm_size:?} is not one of {}",
            enumerate(&sizes)
        )));
    }
    if member::standbys(ha_type).is_none() {
        return Err(ProvisionError::Failed(format!(
            "the kind of high availability {ha_type:?} is not one of none, async and sync"
        )));
    }
    Ok(())
}

impl Provisioner for Local {
    async fn observe(&self, wanted: &Wanted) -> Result<Option<Observed>, ProvisionError> {
        if let (Some(during), Some(known)) = (self.upgrading(&wanted.id), &wanted.known) {
            let archive = self.0.archive(&wanted.id)?;
            let shown = spawn_blocking(move || archive.shown()).await;
            return Ok(Some(Observed {
                is_available: during == During::Check,
                backups: shown.expect("it does not panic")?,
                ..known.clone()
            }));
        }
        let Some(mut database) = self.lookup(wanted).await? else {
            // A new database in its place would be empty, and look as if nothing had happened.
            if wanted.known.is_some() {
                let wrong = "it has no folder on this machine: bring the folder back, or delete it";
                return Err(ProvisionError::NoDatabase(wrong.to_owned()));
            }
            return Ok(None);
        };
        let bytes_per_gib = self.0.config.bytes_per_gib;
        if let Err(error) = self.0.forget_lost(&mut database).await {
            tracing::warn!(
                database = wanted.id,
                "the standbys cannot be looked at: {error}"
            );
        }
        let used = storage::used(&database).await?;
        storage::limit(&mut database, used, bytes_per_gib)?;
        let is_available = session::is_ready(&database, database.record.primary).await;
        let archive = self.0.archive(&wanted.id)?;
        let data = database.record.primary.path(&database.locked, DATA);
        let now = self.0.world.now() / 1000;
        let look = move || {
            Ok((
                archive.shown()?,
                archive.times(now)?,
                backup::archived_until(&data, &archive, now)?,
            ))
        };
        let looked = spawn_blocking(look).await.expect("it does not panic");
        let (backups, times, archived_until) = looked?;
        let latest_restore_time = match (&wanted.known, times) {
            // Restoring asks the server for what is not archived yet, which the server may refuse if it
            // waits for something before.
            (_, Some((_, newest))) if is_available => archived_until.max(newest),
            (Some(known), _) => known.latest_restore_time,
            (None, _) => database.record.created_at / 1000,
        };
        Ok(Some(Observed {
            is_available,
            shape: database.record.shape,
            used_bytes: storage::shown(used, bytes_per_gib),
            earliest_restore_time: times.map(|(earliest, _)| earliest),
            latest_restore_time,
            backups,
        }))
    }

    async fn create(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        ensure_flavor(&wanted.flavor)?;
        ensure_supported(&wanted.shape)?;
        self.create_or_restore(wanted).await
    }

    async fn resize(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        ensure_supported(&wanted.shape)?;
        if let Some(progress) = self.await_upgrade(&wanted.id).await? {
            return Ok(progress);
        }
        let mut database = self.load(wanted).await?;
        let now = self.0.world.now();
        let shape = Shape {
            version: database.record.shape.version.clone(),
            ..wanted.shape_at(now, &database.record.shape)
        };
        // Last, so that an upgrade which fails holds up no other change.
        if database.record.shape == shape && shape.version != wanted.shape.version {
            if wanted.shape.is_older_than(&shape) {
                let wrong = "PostgreSQL cannot go back to an older version";
                return Err(ProvisionError::Failed(wrong.to_owned()));
            }
            self.0.ensure_not_postponed(&database.record)?;
            return self.begin_upgrade(database, &wanted.shape.version).await;
        }
        if database.record.shape == shape
            && shape != wanted.shape
            && let Some(wait) = wanted.until_maintenance(now)
        {
            return Ok(Progress::Pending(wait));
        }
        // A size becomes settings on the command line of the server, which only a start reads.
        if database.record.shape.vm_size != shape.vm_size {
            server::stop(&database, database.record.primary).await?;
        }
        database.record.shape = shape;
        database.write()?;
        self.0.start(&database, database.record.primary).await?;
        // The supervisor makes and removes standbys, which may take long.
        Ok(Progress::Done)
    }

    async fn restart(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        if self.upgrading(&wanted.id).is_some() {
            return Ok(Progress::Pending(PAUSE));
        }
        let mut database = self.load(wanted).await?;
        if database.record.restarts < number {
            server::stop(&database, database.record.primary).await?;
            // After the stop, so that a service which is killed in between stops the server again.
            database.record.restarts = number;
            database.record.failed_upgrade = None;
            database.write()?;
        }
        self.0.start(&database, database.record.primary).await?;
        Ok(Progress::Done)
    }

    async fn promote(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        if self.upgrading(&wanted.id).is_some() {
            return Ok(Progress::Pending(PAUSE));
        }
        let mut database = self.load(wanted).await?;
        self.0.switch(&mut database, number).await
    }

    async fn delete(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        self.end_restoration(&wanted.id).await;
        self.end_upgrade(&wanted.id).await;
        if self.0.folder.has(&wanted.id)? {
            let locked = self.0.lock_to_delete(&wanted.id).await?;
            self.0.remove(locked).await?;
        } else {
            // A service that was killed may have come so far.
            self.0.remove_archive(&wanted.id).await?;
            address::free(&self.0.folder.addresses(), &wanted.id)?;
        }
        Ok(Progress::Done)
    }

    async fn restrict(&self, wanted: &Wanted) -> Result<(), ProvisionError> {
        if self.upgrading(&wanted.id) == Some(During::Outage) {
            // The task of the upgrade has the lock. The server reads the rules when it starts.
            let folder = self.0.folder.path(&wanted.id)?;
            let record = folder::read(&folder)?.ok_or_else(ProvisionError::no_database)?;
            let reader = record.user.map(|user| (user, user));
            return access::prepare(&folder, reader, &wanted.open_to);
        }
        let database = self.load(wanted).await?;
        access::restrict(&database, &wanted.open_to).await
    }

    async fn set_password(
        &self,
        wanted: &Wanted,
        password: &Password,
    ) -> Result<(), ProvisionError> {
        let database = self.load(wanted).await?;
        self.0.start(&database, database.record.primary).await?;
        let session = session::connect(&database, database.record.primary).await?;
        session.set_password(password).await
    }

    async fn connection(&self, wanted: &Wanted) -> Result<ConnectionDetails, ProvisionError> {
        let (address, server_certificate) = if self.upgrading(&wanted.id).is_some() {
            // The task of the upgrade has the lock. It does not change the address or the certificate.
            let folder = self.0.folder.path(&wanted.id)?;
            let record = folder::read(&folder)?.ok_or_else(ProvisionError::no_database)?;
            (
                record.address,
                certificate::read(&folder.join(certificate::FILE))?,
            )
        } else {
            let mut database = self.load(wanted).await?;
            let certificate = self.0.ensure_certificate(&mut database)?;
            (database.record.address, certificate)
        };
        Ok(ConnectionDetails {
            server_certificate,
            host: address.to_string(),
            ca_certificates: self.0.authority.certificate().to_owned(),
        })
    }

    async fn events(&self) -> Result<Option<Events>, ProvisionError> {
        let events = self.0.changed.subscribe();
        let ids = stream::unfold(events, async |mut events| {
            loop {
                match events.recv().await {
                    Ok(id) => return Some((Ok(id), events)),
                    // Those databases are observed in their turn.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            }
        });
        Ok(Some(ids.boxed()))
    }
}
