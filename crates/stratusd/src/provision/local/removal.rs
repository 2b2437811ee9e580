//! Removes folders that the user of a server can write to.
//!
//! The owner of a database can make folders within folders without a bound, and more of them while they are
//! removed. So a folder is first moved out of the way, to one that programs of the owner cannot enter. What
//! is there is removed without descending: each folder within a folder is moved up. So however much is
//! removed, the memory that it takes and the number of open files stay the same.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, renameat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::files::{open_folder, private};

/// The name of the folder to which others are moved. Only the service can enter it.
pub(super) const TRASH: &str = "removed";
/// How deep folders are that cannot be moved up, such as the subvolumes of Btrfs.
const MOST_NESTED: u32 = 16;

/// Moves a folder or file to the trash, if it is there. Nothing else may use the trash at the same time. A
/// folder that the system does not move, such as one of a lower layer of overlayfs, or any on a full disk, is
/// removed where it is, for which `most` is the time, as for [`empty`].
pub(super) fn discard(path: &Path, trash: &Path, most: Duration) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there?,
    };
    match private(trash) {
        Err(error) if is_full(&error) => return empty(path, most),
        made => made?,
    }
    for number in 0_u64.. {
        match rename(CWD, path, CWD, trash.join(number.to_string())) {
            Ok(false) => {}
            Ok(true) => break,
            Err(Errno::XDEV | Errno::NOSPC | Errno::DQUOT) => return empty(path, most),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn is_full(error: &io::Error) -> bool {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    full.contains(&error.kind())
}

/// Removes the trash, or another folder, with all that is in it, if it is there. Nothing else may use it at the
/// same time.
///
/// # Errors
///
/// If it takes longer than `most`: programs that still run may make files as fast as they are removed.
/// What is left is removed by the next call.
pub(super) fn empty(path: &Path, most: Duration) -> io::Result<()> {
    let folder = match open_folder(CWD, path) {
        Err(Errno::NOENT) => return Ok(()),
        folder => folder?,
    };
    let mut top = Top {
        folder,
        moved: 0,
        until: Instant::now() + most,
        nested: 0,
    };
    top.empty()?;
    fs::remove_dir(path)
}

/// A folder to which those within it are moved up.
struct Top {
    folder: OwnedFd,
    /// The number that the name of the last folder has that was moved.
    moved: u64,
    /// When the removal is to end.
    until: Instant,
    /// The number of folders above whose folders are moved up, too.
    nested: u32,
}

impl Top {
    fn empty(&mut self) -> io::Result<()> {
        // A folder may show what is moved to it while it is read, or not, so it is read until it is empty.
        while self.clear()? {}
        Ok(())
    }

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
            self.ensure_time()?;
            if remove_simple(&self.folder, name)? {
                continue;
            }
            let folder = match open_folder(&self.folder, name) {
                Err(Errno::NOENT) => continue,
                folder => folder?,
            };
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                self.ensure_time()?;
                if !is_itself(name) && !remove_simple(&folder, name)? {
                    self.move_up(&folder, name)?;
                }
            }
        }
        Ok(was_any)
    }

    /// Moves a folder within another one up. If the system does not move it out of that, empties that one
    /// in the same way.
    fn move_up(&mut self, from: &OwnedFd, name: &CStr) -> io::Result<()> {
        loop {
            self.ensure_time()?;
            self.moved += 1;
            match rename(from, name, &self.folder, self.moved.to_string()) {
                Ok(false) => {}
                Ok(true) | Err(Errno::NOENT) => return Ok(()),
                Err(Errno::XDEV) if self.nested < MOST_NESTED => {
                    let mut nested = Self {
                        folder: from.try_clone()?,
                        moved: 0,
                        until: self.until,
                        nested: self.nested + 1,
                    };
                    return nested.empty();
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn ensure_time(&self) -> io::Result<()> {
        if Instant::now() > self.until {
            return Err(io::Error::other(
                "there is more than can be removed in time",
            ));
        }
        Ok(())
    }
}

/// Renames a folder or file. Returns whether it did: not if there is something of the new name.
fn rename(from: impl AsFd, name: impl Arg, to: impl AsFd, new: impl Arg) -> Result<bool, Errno> {
    match renameat(from, name, to, new) {
        Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR | Errno::ISDIR) => Ok(false),
        renamed => renamed.map(|()| true),
    }
}

/// Removes a file, or a folder that is empty. Returns whether it is gone: not if it is a folder that is not
/// empty.
fn remove_simple(folder: &OwnedFd, name: &CStr) -> Result<bool, Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        // It is a folder.
        Err(Errno::ISDIR) => {}
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{FileType, Mode, OFlags, mknodat, openat};

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    /// Removes a folder whole.
    fn remove(path: &Path, trash: &Path) {
        discard(path, trash, LONG).expect("it can be moved");
        assert!(!path.exists());
        empty(trash, LONG).expect("it can be removed");
        assert!(!trash.exists());
    }

    /// Makes folders within folders, each with a file.
    fn nest(path: &Path, depth: usize) {
        fs::create_dir(path).expect("it can be made");
        let mut folder = open_folder(CWD, path).expect("it is there");
        for _ in 0..depth {
            rustix::fs::mkdirat(&folder, "d", Mode::RWXU).expect("it can be made");
            let flags = OFlags::WRONLY | OFlags::CREATE;
            openat(&folder, "file", flags, Mode::RWXU).expect("it can be made");
            folder = open_folder(&folder, "d").expect("it is there");
        }
    }

    #[test]
    fn a_tree_of_any_form_is_removed() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let (tree, trash) = (folder.path().join("tree"), folder.path().join(TRASH));
        let kept = folder.path().join("kept");
        fs::create_dir(&kept).expect("it can be made");
        fs::write(kept.join("file"), "").expect("it can be made");
        fs::create_dir(&tree).expect("it can be made");
        nest(&tree.join("deep"), 3000);
        for number in 0..2000 {
            let wide = tree.join(format!("wide/{number}/x"));
            fs::create_dir_all(wide).expect("it can be made");
        }
        symlink(&kept, tree.join("link")).expect("it can be made");
        symlink(&kept, tree.join("wide/link")).expect("it can be made");
        mknodat(CWD, tree.join("pipe"), FileType::Fifo, Mode::RWXU, 0).expect("it can be made");
        remove(&tree, &trash);
        assert!(kept.join("file").exists());
        // What is not there, a file, and a link.
        remove(&tree, &trash);
        fs::write(&tree, "").expect("it can be made");
        remove(&tree, &trash);
        symlink(&kept, &tree).expect("it can be made");
        remove(&tree, &trash);
        assert!(kept.join("file").exists());
    }

    #[test]
    fn what_is_left_is_removed_by_the_next_call() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let (tree, trash) = (folder.path().join("tree"), folder.path().join(TRASH));
        nest(&tree, 3000);
        discard(&tree, &trash, LONG).expect("it can be moved");
        let wrong = empty(&trash, Duration::ZERO).expect_err("there is no time");
        assert_eq!(
            wrong.to_string(),
            "there is more than can be removed in time"
        );
        // Names that the removal gives itself are taken.
        for number in 1..10 {
            nest(&trash.join(number.to_string()), 10);
            fs::write(trash.join((10 + number).to_string()), "").expect("it can be made");
        }
        nest(&tree, 10);
        remove(&tree, &trash);
    }
}
