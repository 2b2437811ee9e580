//! The files of an SQLite database: creating them, claiming the database for one process, and
//! checking that the files are not deleted or replaced while they are open.
//!
//! An open file that was deleted or replaced can still be written, but nobody will ever read it
//! again. SQLite does not check this, so the writer does.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::storage::{Cause, StorageError};

/// The interval at which a process that waits for the lock file beside a database tries to lock it.
const LOOK: Duration = Duration::from_millis(50);

/// The files of an open database: the database file, its write-ahead log (`-wal`) and the index of
/// the log (`-shm`).
pub(super) struct Files {
    paths: [PathBuf; 3],
    identities: [Identity; 3],
}

/// The device number and the inode number of a file, which distinguish it from all other files.
/// Zeros where the system is not Unix.
type Identity = (u64, u64);

impl Files {
    /// Returns the files of the database at a path. A connection must have it open, since the log
    /// and its index do not exist otherwise.
    pub(super) fn of(database: &Path) -> io::Result<Self> {
        let beside = |ending: &str| {
            let mut path = database.as_os_str().to_owned();
            path.push(ending);
            PathBuf::from(path)
        };
        let paths = [database.to_owned(), beside("-wal"), beside("-shm")];
        let [database, log, index] = paths.each_ref().map(|path| identity(path));
        Ok(Self {
            paths,
            identities: [database?, log?, index?],
        })
    }

    /// Returns the path of the database file.
    pub(super) fn database(&self) -> &Path {
        &self.paths[0]
    }

    /// Checks that each path still leads to the file that is open.
    ///
    /// # Errors
    ///
    /// If a file was deleted or replaced.
    pub(super) fn ensure_in_place(&self) -> Result<(), Cause> {
        for (path, open) in self.paths.iter().zip(&self.identities) {
            if identity(path).ok() != Some(*open) {
                return Err(format!(
                    "{} was deleted or replaced while it was open: stop the service, put the file in its place, \
                     and start the service",
                    path.display()
                )
                .into());
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Returns the same identity for every file that exists: where the system is not Unix, a file that
/// is open cannot be deleted.
#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<Identity> {
    path.metadata().map(|_| (0, 0))
}

/// Creates the file of a database if it does not exist yet, with access for its owner alone, and
/// returns its path without symbolic links. SQLite gives the log the same permissions.
///
/// An existing file is not opened: when a process closes any handle of a file, it loses all POSIX
/// locks on it, also those of SQLite's connections, and the next process to open the database takes
/// it for abandoned (<https://sqlite.org/howtocorrupt.html>, section 2.2).
///
/// # Errors
///
/// If the file cannot be created, or has another name (a hard link): SQLite names the log after the
/// database, so each name would have a log of its own.
pub(super) fn create(file: &Path) -> io::Result<PathBuf> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if file.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) > 1 {
        return Err(io::Error::other(
            "the file has another name (a hard link), which SQLite cannot share: remove one of the names",
        ));
    }
    file.canonicalize()
}

/// Returns the URI with which SQLite opens a database but does not create a missing one, in its mode
/// `rw` or `ro`.
///
/// # Errors
///
/// If the path is not UTF-8.
pub(super) fn uri(database: &Path, mode: &str) -> Result<String, &'static str> {
    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'/')
        .remove(b'-')
        .remove(b'.')
        .remove(b'_');
    let path = database.to_str().ok_or("its path is not in UTF-8")?;
    Ok(format!(
        "file:{}?mode={mode}",
        utf8_percent_encode(path, PLAIN)
    ))
}

/// Opens the file whose name is that of the database file plus `ending`. Creates either file if it
/// does not exist.
fn beside(file: &Path, ending: &str) -> io::Result<File> {
    let mut path = create(file)?.into_os_string();
    path.push(ending);
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    // A process that can open the file can lock it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Locks the file named as a database plus `.lock`, and waits while another process has it locked.
/// The lock is released when the returned file is closed. Polls instead of blocking, so that the
/// wait can be cancelled.
pub(super) async fn lock(file: &Path) -> Result<File, StorageError> {
    let failed = |error: io::Error| {
        StorageError::InUse(format!("failed to lock {}: {error}", file.display()))
    };
    let lock = beside(file, ".lock").map_err(failed)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// Claims a database for this process until the process ends. Two services that serve the same file
/// would each reconcile all of its databases.
///
/// # Errors
///
/// If another process has claimed the database, or the file cannot be opened or locked.
pub fn claim(file: &Path) -> Result<(), StorageError> {
    let failed =
        |words: String| StorageError::InUse(format!("failed to claim {}: {words}", file.display()));
    let claimed = claimable(file).map_err(|error| failed(error.to_string()))?;
    match claimed.try_lock() {
        Ok(()) => {
            // Never closed, or SQLite would lose its own locks; the kernel releases the claim when
            // the process ends.
            std::mem::forget(claimed);
            Ok(())
        }
        Err(TryLockError::WouldBlock) => Err(failed(
            "another stratusd serves it; use PostgreSQL for several replicas".to_owned(),
        )),
        Err(TryLockError::Error(error)) => Err(failed(error.to_string())),
    }
}

/// Opens the file that is locked to claim a database: the database file itself. So the claim holds
/// under every name of the file, and there is no lock file that could be deleted. On Linux, the
/// lock (`flock`) does not conflict with SQLite's POSIX locks.
#[cfg(target_os = "linux")]
fn claimable(file: &Path) -> io::Result<File> {
    File::open(create(file)?)
}

/// Opens the file that is locked to claim a database: one named as it plus `.serve`. On systems
/// other than Linux, a lock of the database file itself would lock out SQLite.
#[cfg(not(target_os = "linux"))]
fn claimable(file: &Path) -> io::Result<File> {
    beside(file, ".serve")
}
