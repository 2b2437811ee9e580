//! The folder that holds the databases, and what is recorded of each.
//!
//! ```text
//! databases/pg…/lock         locked while a step changes the database
//! databases/pg…/record.json  what the database is; written last, so there is a database if it exists
//! databases/pg…/a/data       the folder of a server, which belongs to its user
//! databases/pg…/a/socket     its Unix socket, which belongs to its user
//! addresses/127.54.0.1       the id of the database that has the address
//! ```

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::member::Member;
use crate::provision::{ProvisionError, Shape};

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
    /// What the database has now.
    #[serde(flatten)]
    pub(super) shape: Shape,
    /// The address that the server listens on, at port 5432.
    pub(super) address: Ipv4Addr,
    /// The time of the creation in milliseconds since 1970.
    pub(super) created_at: i64,
    /// The server that clients are connected to.
    pub(super) primary: Member,
    /// The servers that follow it.
    pub(super) standbys: Vec<Member>,
    /// The standby that is taking the place of the primary.
    pub(super) promoted: Option<Member>,
    /// Whether the server has accepted connections once.
    pub(super) is_created: bool,
    /// The number of the last restart.
    pub(super) restarts: i64,
    /// Whether the storage is full, so that transactions are read-only unless they say otherwise.
    pub(super) is_full: bool,
    /// The year in which the server's certificate was issued.
    pub(super) certificate_year: i32,
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
        let open = || -> io::Result<PathBuf> {
            open_to_servers(root)?;
            let root = root.canonicalize()?;
            for name in ["databases", "addresses"] {
                open_to_servers(&root.join(name))?;
            }
            Ok(root)
        };
        let root = open().map_err(|error| FolderError(root.to_owned(), error))?;
        Ok(Self { root })
    }

    /// Returns the folder of the addresses.
    pub(super) fn addresses(&self) -> PathBuf {
        self.root.join("addresses")
    }

    /// Returns the ids of all databases, those that are being created or deleted too.
    pub(super) fn ids(&self) -> io::Result<Vec<String>> {
        let entries = self.root.join("databases").read_dir()?;
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    /// Returns the path of a database's folder.
    pub(super) fn path(&self, id: &str) -> Result<PathBuf, ProvisionError> {
        // An id has no other characters; a path that leaves the folder has.
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(ProvisionError(format!("{id:?} is not an id")));
        }
        Ok(self.root.join("databases").join(id))
    }

    /// Returns whether anything of a database is there.
    pub(super) fn has(&self, id: &str) -> Result<bool, ProvisionError> {
        Ok(self.path(id)?.exists())
    }

    /// Locks a database, and creates its folder if it is not there. Returns `None` if it is locked
    /// by another step.
    pub(super) fn lock(&self, id: &str) -> Result<Option<Locked>, ProvisionError> {
        let path = self.path(id)?;
        let lock = || -> io::Result<Option<File>> {
            open_to_servers(&path)?;
            let mut options = File::options();
            let file = options.read(true).write(true).create(true).truncate(false);
            let file = file.open(path.join("lock"))?;
            match file.try_lock() {
                Ok(()) => Ok(Some(file)),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(error),
            }
        };
        let file =
            lock().map_err(|error| ProvisionError(format!("{}: {error}", path.display())))?;
        Ok(file.map(|file| Locked { path, file }))
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

    /// Removes the folder.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

impl Database {
    /// Writes the record.
    pub(super) fn write(&self) -> Result<(), ProvisionError> {
        let text = serde_json::to_vec_pretty(&self.record).expect("a record is JSON");
        replace(&self.locked.path("record.json"), &text)
    }
}

/// Returns the record of the database in a folder, or `None` if it has none.
pub(super) fn read(folder: &Path) -> Result<Option<Record>, ProvisionError> {
    let path = folder.join("record.json");
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| failed(&path.display().to_string(), &error))?,
    };
    let record = serde_json::from_slice(&text);
    record.map_err(|error| ProvisionError(format!("{}: {error}", path.display())))
}

/// Replaces a file as a whole, also if the machine stops meanwhile.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), ProvisionError> {
    let write = || -> io::Result<()> {
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| failed(&path.display().to_string(), &error))
}

/// Returns the error of something that failed for a reason of the operating system.
pub(super) fn failed(what: &str, error: &io::Error) -> ProvisionError {
    ProvisionError(format!("{what}: {error}"))
}

/// Creates a folder, if it is not there, that other users can enter but not list.
pub(super) fn open_to_servers(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o711).create(path)
}
