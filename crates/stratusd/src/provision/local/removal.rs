//! Removes folders that the user of a server can write to.
//!
//! The owner of a database can make folders within folders without a bound, and more of them while they are
//! removed. So this does not descend: it moves each folder within a folder up, and needs the same memory
//! and as many open files whatever it removes.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::{Errno, Result};

use super::files::private;

/// The name of the folder that what is removed is moved to. Programs of an owner cannot enter it.
pub(super) const TRASH: &str = "removed";
/// How long a removal may take at a time: programs that still run may make files as fast as they are removed.
const MOST_TIME: Duration = Duration::from_secs(30);

/// Removes a folder or file, if it is there. `trash` is a folder that only the service can write in, beside
/// which nothing else is removed at the same time.
///
/// # Errors
///
/// If that takes longer than [`MOST_TIME`], or fails. The next removal goes on with it.
pub(super) fn remove(path: &Path, trash: &Path) -> io::Result<()> {
    // What an earlier removal has left.
    empty(trash)?;
    private(trash)?;
    match fs::rename(path, trash.join("0")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        moved => moved?,
    }
    empty(trash)
}

/// Removes a folder to which other folders were moved, with all that is in it, if it is there.
///
/// # Errors
///
/// If that takes longer than [`MOST_TIME`], or fails.
pub(super) fn empty(trash: &Path) -> io::Result<()> {
    let folder = match open(CWD, trash) {
        Err(Errno::NOENT) => return Ok(()),
        folder => folder?,
    };
    let mut top = Top {
        folder,
        moved: 0,
        until: Instant::now() + MOST_TIME,
    };
    // A folder may show what is moved to it while it is read, or not, so it is read until it is empty.
    while top.clear()? {}
    fs::remove_dir(trash)
}

/// The folder that others are moved up to.
struct Top {
    folder: OwnedFd,
    /// The number of folders that were moved, each of which gets its number as a name.
    moved: u64,
    /// When the removal is to end.
    until: Instant,
}

impl Top {
    /// Removes the files that are here and in the folders here, and moves the folders in those up. Returns
    /// whether there was anything.
    fn clear(&mut self) -> io::Result<bool> {
        let mut was_any = false;
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_itself(name) {
                continue;
            }
            was_any = true;
            if remove_simple(&self.folder, name)? {
                continue;
            }
            let folder = open(&self.folder, name)?;
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if !is_itself(name) && !remove_simple(&folder, name)? {
                    self.move_up(&folder, name)?;
                }
                if Instant::now() > self.until {
                    return Err(io::Error::other(
                        "there is more than can be removed in time",
                    ));
                }
            }
        }
        Ok(was_any)
    }

    /// Moves a folder within another one up.
    fn move_up(&mut self, from: &OwnedFd, name: &CStr) -> Result<()> {
        loop {
            self.moved += 1;
            match renameat(from, name, &self.folder, self.moved.to_string()) {
                // An earlier removal has left one of this name.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(Errno::NOENT) => return Ok(()),
                moved => return moved,
            }
        }
    }
}

/// Removes a file, or a folder that is empty. Returns whether it is gone: not if it is a folder that is not
/// empty.
fn remove_simple(folder: &OwnedFd, name: &CStr) -> Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        // Linux says the first of a folder, and others the second.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(Errno::NOENT) => return Ok(true),
        removed => return removed.map(|()| true),
    }
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(Errno::NOENT) => Ok(true),
        removed => removed.map(|()| true),
    }
}

/// Returns whether a name is one of those by which a folder lists itself and the one that it is in.
fn is_itself(name: &CStr) -> bool {
    [c".", c".."].contains(&name)
}

/// Opens a folder, which is not a link.
fn open(within: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(within, name, flags, Mode::empty())
}
