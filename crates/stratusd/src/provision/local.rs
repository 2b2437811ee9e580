//! Runs a PostgreSQL server for each database on this machine, at its own address, with its standbys.
//!
//! What the service knows of a database is in the database's folder, so that a service that was
//! killed continues where it was. Each step holds a lock on the folder. The programs that make or
//! copy a cluster hold it too, so a step waits for those of an earlier process.

mod access;
mod address;
mod backup;
mod binaries;
mod certificate;
mod cluster;
mod configuration;
mod control;
mod files;
mod folder;
mod member;
mod owner;
mod replication;
mod server;
mod session;
mod setup;
mod size;
mod storage;
mod supervisor;

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use address::Addresses;
pub use backup::restore_files;
pub use binaries::Binaries;
pub use folder::FolderError;
pub use owner::{Owner, OwnerError};

use super::authority::Authority;
use super::{ConnectionDetails, Observed, Password, Progress, ProvisionError, Provisioner, Wanted};
use crate::world::World;
use folder::{Database, Folder, Locked};
use member::DATA;

/// How long a step waits for a step of an earlier process, or for the supervisor.
const LOCK_WAIT: Duration = Duration::from_secs(5);

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
    /// The databases whose backups take more room than they may.
    full_archives: Mutex<HashSet<String>>,
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
            full_archives: Mutex::default(),
        })))
    }

    /// Returns the versions of PostgreSQL that databases can have.
    pub fn versions(&self) -> impl Iterator<Item = &'static str> {
        self.0.config.binaries.versions()
    }

    /// Locks a database for a step, and reads its record.
    async fn load(&self, wanted: &Wanted) -> Result<Database, ProvisionError> {
        let database = self.lookup(wanted).await?;
        database.ok_or_else(|| ProvisionError("the database does not exist".to_owned()))
    }

    /// Locks a database for a step, and reads its record. Returns `None` if it is not created.
    async fn lookup(&self, wanted: &Wanted) -> Result<Option<Database>, ProvisionError> {
        if !self.0.folder.has(&wanted.id)? {
            return Ok(None);
        }
        let locked = self.0.lock(&wanted.id).await?;
        let record = locked.read()?.filter(|record| record.is_created);
        Ok(record.map(|record| Database { locked, record }))
    }
}

impl Inner {
    /// Locks a database for a step. Waits for at most [`LOCK_WAIT`].
    async fn lock(&self, id: &str) -> Result<Locked, ProvisionError> {
        let begun = tokio::time::Instant::now();
        loop {
            if let Some(locked) = self.folder.lock(id)? {
                return Ok(locked);
            }
            if begun.elapsed() > LOCK_WAIT {
                let wrong = "an earlier step for this database has not ended yet";
                return Err(ProvisionError(wrong.to_owned()));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Provisioner for Local {
    async fn observe(&self, wanted: &Wanted) -> Result<Option<Observed>, ProvisionError> {
        let Some(mut database) = self.lookup(wanted).await? else {
            // A new database in its place would be empty, and look as if nothing had happened.
            if wanted.known.is_some() {
                let wrong = "it has no folder on this machine: bring the folder back, or delete it";
                return Err(ProvisionError(wrong.to_owned()));
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
        let backups = self.0.archive(&wanted.id)?.shown()?;
        let latest_restore_time = match &wanted.known {
            // Restoring asks the server for what is not archived yet.
            _ if is_available && !backups.is_empty() && !self.0.is_archive_full(&wanted.id) => {
                self.0.world.now() / 1000
            }
            Some(known) => known.latest_restore_time,
            None => database.record.created_at / 1000,
        };
        Ok(Some(Observed {
            is_available,
            shape: database.record.shape,
            used_bytes: storage::shown(used, bytes_per_gib),
            earliest_restore_time: backups.first().map(|backup| backup.last_modified),
            latest_restore_time,
            backups,
        }))
    }

    /// Creates a database at once, which takes about a second, unless it has the data of another one.
    async fn create(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        self.0.folder.make(&wanted.id)?;
        let locked = self.0.lock(&wanted.id).await?;
        let mut database = match locked.read()? {
            Some(record) => Database { locked, record },
            None => self.0.make(locked, wanted).await?,
        };
        if database.record.restored_until.is_some() {
            match self.0.recover_until(&mut database).await {
                Ok(Progress::Done) => {}
                Ok(pending @ Progress::Pending(_)) => return Ok(pending),
                Err(error) => {
                    let data = database.record.primary.path(&database.locked, DATA);
                    if server::pid(&data)?.is_none() {
                        // Begun anew at the next step, by what is archived then.
                        self.0.remove(database.locked).await?;
                    }
                    return Err(error);
                }
            }
        }
        if let Err(error) = self.0.start(&database, database.record.primary).await {
            if !database.record.is_created {
                // Begun anew at the next step, with another address: another program may have taken
                // this one meanwhile.
                self.0.remove(database.locked).await?;
            }
            return Err(error);
        }
        database.record.is_created = true;
        database.write()?;
        Ok(Progress::Done)
    }

    async fn resize(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        let mut database = self.load(wanted).await?;
        if database.record.shape.version != wanted.shape.version {
            let wrong = "the version of a local database cannot be changed";
            return Err(ProvisionError(wrong.to_owned()));
        }
        if database.record.shape.vm_size != wanted.shape.vm_size {
            server::stop(&database, database.record.primary).await?;
        }
        database.record.shape = wanted.shape.clone();
        database.write()?;
        self.0.start(&database, database.record.primary).await?;
        // The supervisor makes and removes standbys, which may take long.
        Ok(Progress::Done)
    }

    async fn restart(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        let mut database = self.load(wanted).await?;
        if database.record.restarts < number {
            server::stop(&database, database.record.primary).await?;
            database.record.restarts = number;
            database.write()?;
        }
        self.0.start(&database, database.record.primary).await?;
        Ok(Progress::Done)
    }

    async fn promote(&self, wanted: &Wanted, number: i64) -> Result<Progress, ProvisionError> {
        let mut database = self.load(wanted).await?;
        self.0.switch(&mut database, number).await
    }

    async fn delete(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        if self.0.folder.has(&wanted.id)? {
            let locked = self.0.lock(&wanted.id).await?;
            self.0.remove(locked).await?;
        } else {
            // A service that was killed may have come so far.
            self.0.remove_archive(&wanted.id).await?;
            address::free(&self.0.folder.addresses(), &wanted.id)?;
        }
        Ok(Progress::Done)
    }

    async fn restrict(&self, wanted: &Wanted) -> Result<(), ProvisionError> {
        let database = self.load(wanted).await?;
        access::restrict(&database, &wanted.open_to).await
    }

    async fn set_password(
        &self,
        wanted: &Wanted,
        password: &Password,
    ) -> Result<(), ProvisionError> {
        let database = self.load(wanted).await?;
        let session = session::connect(&database, database.record.primary).await?;
        session.set_password(password).await
    }

    async fn connection(&self, wanted: &Wanted) -> Result<ConnectionDetails, ProvisionError> {
        let mut database = self.load(wanted).await?;
        Ok(ConnectionDetails {
            server_certificate: self.0.ensure_certificate(&mut database)?,
            host: database.record.address.to_string(),
            ca_certificates: self.0.authority.certificate().to_owned(),
        })
    }
}
