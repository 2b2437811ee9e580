//! The folder that holds the databases, and what is recorded of each.
//!
//! ```text
//! databases/pg…/lock         locked while a step changes the database
//! databases/pg…/copies.lock  locked while a standby is copied, during which other steps go on
//! databases/pg…/record.json  what the database is; written last, so there is a database if it exists
//! databases/pg…/a/data       the folder of a server, which belongs to its user
//! databases/pg…/a/socket     its Unix socket, which belongs to its user
//! databases/pg…/a/upgraded   the data folder of a later version, while the database is upgraded
//! databases/pg…/a/upgrade    where the programs of the upgrade work
//! databases/pg…/a/old        the data folder of the version before, until the later one has answered
//! databases/pg…/removed      what was moved out of the way, and is removed
//! addresses/127.54.0.1       the id of the database that has the address
//! backups.lock               locked by the replica that keeps the backups
//! users                      how many users of servers there have been
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::task::spawn_blocking;

use super::files::{User, failed, names, open_to_servers, private, remove_file, replace};
use super::member::Member;
use super::removal::{self, TRASH};
use super::upgrade::{FailedUpgrade, Upgrade};
use crate::provision::{ProvisionError, Shape};

/// How long a step removes what is not needed any more. Programs of the owner may make more of it meanwhile.
const MOST_REMOVING: Duration = Duration::from_secs(30);
/// How long the supervisor goes on with it at a time: less than other steps wait for the lock.
const MOST_EMPTYING: Duration = Duration::from_secs(2);
/// How long the removal of a whole database lasts at a time.
const MOST_DELETING: Duration = Duration::from_mins(10);

/// The folder of databases cannot be created or read.
#[derive(Debug, Error)]
#[error("{0:?}: {1}")]
pub struct FolderError(PathBuf, io::Error);

/// The folder of all databases.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

/// What is recorded of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The id of the project, which programs before this one have not recorded.
    #[serde(default)]
    pub(super) project: Option<String>,
    /// What the database has now.
    #[serde(flatten)]
    pub(super) shape: Shape,
    /// The address that the server listens on, at port 5432.
    pub(super) address: Ipv4Addr,
    /// The number of the user that the servers run as, or `None` for that of the service. No other
    /// database ever has the same: programs of its owner may outlive the database.
    pub(super) user: Option<u32>,
    /// The time of the creation in milliseconds since 1970.
    pub(super) created_at: i64,
    /// The server that clients are connected to.
    pub(super) primary: Member,
    /// The servers that follow it.
    pub(super) standbys: Vec<Member>,
    /// The standby that is taking the place of the primary.
    pub(super) promoted: Option<Member>,
    /// The number of the timeline that the primary is on: one more with each change of the primary.
    pub(super) timeline: u32,
    /// Whether each commit is known to wait for a standby.
    pub(super) commits_wait: bool,
    /// Whether the server has accepted connections once.
    pub(super) is_created: bool,
    /// The number of the last restart.
    pub(super) restarts: i64,
    /// The number of the last planned switch to a standby.
    #[serde(default)]
    pub(super) promotions: i64,
    /// The number of the planned switch that is in progress.
    #[serde(default)]
    pub(super) switching: Option<i64>,
    /// The time up to which the server still has to read the log of another database, in microseconds
    /// since 1970.
    #[serde(default)]
    pub(super) restored_until: Option<i64>,
    /// Whether the server was started to read that log.
    #[serde(default)]
    pub(super) is_recovering: bool,
    /// The upgrade to another version that is in progress.
    #[serde(default)]
    pub(super) upgrade: Option<Upgrade>,
    /// The last upgrade, if it has failed after its outage.
    #[serde(default)]
    pub(super) failed_upgrade: Option<FailedUpgrade>,
    /// Whether the statistics of an upgraded database still have to be made.
    #[serde(default)]
    pub(super) is_unanalyzed: bool,
    /// Whether the storage is full, so that transactions are read-only unless they say otherwise.
    pub(super) is_full: bool,
    /// The year in which the server's certificate was issued.
    pub(super) certificate_year: i32,
}

impl Record {
    /// Returns the project of the database with this record, or the id of the database as long as that
    /// is not recorded.
    pub(super) fn project<'r>(&'r self, id: &'r str) -> &'r str {
        self.project.as_deref().unwrap_or(id)
    }
}

/// A database that is locked for a step.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) locked: Locked,
    pub(super) record: Record,
}

/// The lock on the folder of a database, which may be empty so far.
#[derive(Debug)]
pub(super) struct Locked {
    path: PathBuf,
    file: File,
}

impl Folder {
    /// Creates the folder if it is not there.
    pub(super) fn open(root: &Path) -> Result<Self, FolderError> {
        let root = open(root)?;
        let make = || -> io::Result<()> {
            open_to_servers(&root.join("databases"))?;
            private(&root.join("addresses"))
        };
        make().map_err(|error| FolderError(root.clone(), error))?;
        Ok(Self { root })
    }

    /// Returns the folder of the addresses.
    pub(super) fn addresses(&self) -> PathBuf {
        self.root.join("addresses")
    }

    /// Returns the ids of all databases, those that are being created or deleted too.
    pub(super) fn ids(&self) -> io::Result<Vec<String>> {
        names(&self.root.join("databases"))
    }

    /// Returns the path of a database's folder.
    pub(super) fn path(&self, id: &str) -> Result<PathBuf, ProvisionError> {
        Ok(self.root.join("databases").join(name(id)?))
    }

    /// Returns whether anything of a database is there.
    pub(super) fn has(&self, id: &str) -> Result<bool, ProvisionError> {
        let path = self.path(id)?;
        path.try_exists()
            .map_err(|error| failed(&path.display().to_string(), &error))
    }

    /// Creates the folder of a database, if it is not there.
    pub(super) fn make(&self, id: &str) -> Result<(), ProvisionError> {
        let path = self.path(id)?;
        open_to_servers(&path).map_err(|error| failed(&path.display().to_string(), &error))
    }

    /// Locks a database whose folder is there. Returns `None` if it is locked by another step.
    pub(super) fn lock(&self, id: &str) -> Result<Option<Locked>, ProvisionError> {
        let path = self.path(id)?;
        let file = try_lock(&path.join("lock"));
        let file = file.map_err(|error| failed(&path.display().to_string(), &error))?;
        Ok(file.map(|file| Locked { path, file }))
    }

    /// Locks the backups of all databases, for as long as the file is open. Returns `None` if another
    /// process has locked them.
    pub(super) fn lock_backups(&self) -> io::Result<Option<File>> {
        try_lock(&self.root.join("backups.lock"))
    }

    /// Returns a number that it has never returned before, counting from 0.
    pub(super) fn next_user(&self) -> Result<u32, ProvisionError> {
        let path = self.root.join("users");
        let io = |error| failed(&path.display().to_string(), &error);
        let mut options = File::options();
        let lock = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = lock.open(self.root.join("users.lock")).map_err(io)?;
        // For a moment: other databases are created at the same time.
        lock.lock().map_err(io)?;
        let number = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            text => text.map_err(io)?.trim().parse().map_err(|_| {
                ProvisionError::Failed(format!("{} has no number of users", path.display()))
            })?,
        };
        let next = u32::checked_add(number, 1);
        let next = next.ok_or_else(|| ProvisionError::Failed("all users are taken".to_owned()))?;
        replace(&path, next.to_string().as_bytes(), None)?;
        Ok(number)
    }
}

impl Locked {
    /// Returns the record of the database, or `None` if it has not been created.
    pub(super) fn read(&self) -> Result<Option<Record>, ProvisionError> {
        read(&self.path)
    }

    /// Returns the id of the database.
    pub(super) fn id(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str());
        name.expect("the folder is named by an id")
    }

    /// Returns the path of something in the folder of the database.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the open lock, for a program that belongs to the step: the lock lasts as long as any
    /// process has it open.
    pub(super) fn inherited(&self) -> Result<File, ProvisionError> {
        self.file
            .try_clone()
            .map_err(|error| failed("the lock", &error))
    }

    /// Locks the copies of the database for standbys, for as long as any process has the file open.
    /// Returns `None` if a standby is being copied, also by programs of an earlier process.
    pub(super) fn lock_copies(&self) -> Result<Option<File>, ProvisionError> {
        let lock = try_lock(&self.path("copies.lock"));
        lock.map_err(|error| failed("the lock of copies", &error))
    }

    /// Removes the record, so that there is no database any more.
    pub(super) fn forget(&self) -> io::Result<()> {
        remove_file(&self.path("record.json"))
    }

    /// Moves something in the folder of the database out of the way, if it is there, and removes it. What
    /// takes longer than [`MOST_REMOVING`] is left to the supervisor. That goes on if the step is cancelled,
    /// with the lock.
    pub(super) async fn remove_tree(&self, path: PathBuf) -> Result<(), ProvisionError> {
        let trash = self.path(TRASH);
        self.with_lock(move || removal::discard(&path, &trash, MOST_REMOVING))
            .await?;
        self.empty_trash(MOST_REMOVING).await;
        Ok(())
    }

    /// Goes on to remove what was moved out of the way, for a short time.
    pub(super) async fn go_on_removing(&self) {
        self.empty_trash(MOST_EMPTYING).await;
    }

    /// Removes what was moved out of the way. A failure is only logged: nothing waits for it, and the
    /// supervisor goes on.
    async fn empty_trash(&self, most: Duration) {
        let trash = self.path(TRASH);
        let emptied = self.with_lock(move || removal::empty(&trash, most)).await;
        if let Err(error) = emptied {
            tracing::warn!(
                database = self.id(),
                "what is not needed any more is not all removed yet: {error}"
            );
        }
    }

    /// Does something on another thread, which has the lock as long as it takes.
    async fn with_lock(
        &self,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<(), ProvisionError> {
        let lock = self.inherited()?;
        let work = move || {
            let done = work();
            drop(lock);
            done
        };
        let done = spawn_blocking(work).await.expect("it does not panic");
        done.map_err(|error| failed("the folder of a database", &error))
    }

    /// Removes the folder.
    pub(super) fn remove(self) -> io::Result<()> {
        let trash = self.path(TRASH);
        for name in names(&self.path)? {
            let path = self.path(&name);
            if name != TRASH && path.is_dir() {
                removal::discard(&path, &trash, MOST_DELETING)?;
            }
        }
        removal::empty(&trash, MOST_DELETING)?;
        fs::remove_dir_all(&self.path)
    }
}

impl Database {
    /// Writes the record.
    pub(super) fn write(&self) -> Result<(), ProvisionError> {
        let text = serde_json::to_vec_pretty(&self.record).expect("a record is JSON");
        replace(&self.locked.path("record.json"), &text, None)
    }

    /// Returns the project of the database.
    pub(super) fn project(&self) -> &str {
        self.record.project(self.locked.id())
    }

    /// Returns the user and the group of the servers, or `None` for those of this process.
    pub(super) fn user(&self) -> User {
        self.record.user.map(|user| (user, user))
    }
}

/// Locks a file, which is created if it is not there. Returns `None` if it is locked.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false);
    // No server may hold the lock, of its own database or of another one.
    let file = file.mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns an id as the name of a folder.
///
/// # Errors
///
/// If it has other characters than those of ids, such as those of a path that leaves a folder.
pub(super) fn name(id: &str) -> Result<&str, ProvisionError> {
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(ProvisionError::Failed(format!("{id:?} is not an id")));
    }
    Ok(id)
}

/// Creates a folder that servers can enter, if it is not there. Returns its path without links.
pub(super) fn open(path: &Path) -> Result<PathBuf, FolderError> {
    let open = || {
        open_to_servers(path)?;
        path.canonicalize()
    };
    open().map_err(|error| FolderError(path.to_owned(), error))
}

/// Returns the record of the database in a folder, or `None` if it has none.
pub(super) fn read(folder: &Path) -> Result<Option<Record>, ProvisionError> {
    let path = folder.join("record.json");
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| failed(&path.display().to_string(), &error))?,
    };
    let record = serde_json::from_slice(&text);
    record.map_err(|error| ProvisionError::Failed(format!("{}: {error}", path.display())))
}
