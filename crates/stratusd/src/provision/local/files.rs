//! Files of the service, and files that belong to the user of a server. The owner of a database can
//! run programs as that user, so everything in a folder of that user may be a link, a pipe, or
//! endless, and may change at any moment.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::provision::ProvisionError;

/// The user and the group that may read a file, or `None` for those of this process.
pub(super) type User = Option<(u32, u32)>;

/// Replaces a file as a whole, also if the machine stops meanwhile. Besides the service, only the
/// servers of a user can read it.
pub(super) fn replace(path: &Path, content: &[u8], reader: User) -> Result<(), ProvisionError> {
    let write = || -> io::Result<()> {
        let new = path.with_extension("new");
        let mode = if reader.is_some() { 0o640 } else { 0o600 };
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(mode);
        let mut file = options.open(&new)?;
        // The mode above counts for a new file alone, and the mask of this process takes from it.
        file.set_permissions(Permissions::from_mode(mode))?;
        if let Some((_, group)) = reader {
            chown(&new, None, Some(group))?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_folder(path)
    };
    write().map_err(|error| failed(&path.display().to_string(), &error))
}

/// Removes a file, if it is there, also if the machine stops afterwards.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| sync_folder(path)),
    }
}

/// Opens a folder, unless its name is that of a link.
pub(super) fn open_folder(within: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(within, name, flags, Mode::empty())
}

/// Writes what has changed in the folder of a file to the disk.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Reads the last bytes of a regular file, at most `most`.
///
/// # Errors
///
/// If it is not a regular file, such as a link or a pipe, which would keep the service waiting.
pub(super) fn read_end(path: &Path, most: u64) -> io::Result<String> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the names of what is in a folder, except those that are not text, which the service has not
/// given.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = folder.read_dir()?;
    let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
    names.filter_map(Result::transpose).collect()
}

/// Opens a regular file for reading.
///
/// # Errors
///
/// If it is not a regular file, such as a link or a pipe, which would keep the service waiting.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    // Opening a pipe that nobody writes to would otherwise wait.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    Ok(file)
}

/// Creates a folder, if it is not there, that other users can enter but not list.
pub(super) fn open_to_servers(path: &Path) -> io::Result<()> {
    make(path, 0o711)
}

/// Creates a folder, if it is not there, that only its owner can enter.
pub(super) fn private(path: &Path) -> io::Result<()> {
    make(path, 0o700)
}

fn make(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(mode).create(path)?;
    // Again, because the mask of this process may have taken rights away.
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Returns the error of something that failed for a reason of the operating system.
pub(super) fn failed(what: &str, error: &io::Error) -> ProvisionError {
    ProvisionError::Failed(format!("{what}: {error}"))
}
