//! A file with credentials, which only its owner can read.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;

use super::{Account, Place};
use crate::cli::config;
use crate::cli::failure::Failure;
use crate::client::Secret;

/// The maximum number of bytes that the file may have.
const MOST_BYTES: u64 = 1 << 20;

/// The credentials, by account.
type Credentials = BTreeMap<String, String>;

pub(super) fn find(account: &Account) -> Result<Option<(Secret, Place)>, Failure> {
    let Some(path) = path(account) else {
        return Ok(None);
    };
    let found = read(&path)?.remove(&account.key());
    Ok(found.map(|text| (Secret::from(text), Place::File(path))))
}

pub(super) fn keep(account: &Account, secret: &str) -> Result<PathBuf, Failure> {
    let path = path(account).ok_or_else(|| {
        Failure::other("there is no folder for settings: set HOME or XDG_CONFIG_HOME")
    })?;
    let mut credentials = read(&path)?;
    credentials.insert(account.key(), secret.to_owned());
    write(&path, &credentials)?;
    Ok(path)
}

/// Removes a credential, and returns whether there was one.
pub(super) fn forget(account: &Account) -> Result<bool, Failure> {
    let Some(path) = path(account) else {
        return Ok(false);
    };
    let mut credentials = read(&path)?;
    let was_kept = credentials.remove(&account.key()).is_some();
    if was_kept {
        write(&path, &credentials)?;
    }
    Ok(was_kept)
}

fn path(account: &Account) -> Option<PathBuf> {
    config::folder(account.program).map(|folder| folder.join("credentials.toml"))
}

fn read(path: &Path) -> Result<Credentials, Failure> {
    let wrong = |problem: &str| Failure::usage(format!("{}: {problem}", path.display()));
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Credentials::new()),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    if !is_private(&metadata) {
        let problem =
            "others can read the credentials in it: take their right away with `chmod 600`";
        return Err(wrong(problem));
    }
    if metadata.len() > MOST_BYTES {
        return Err(wrong(&format!("it has more than {MOST_BYTES} bytes")));
    }
    let text = fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    // The error itself would quote a line, and with it a credential.
    toml::from_str(&text).map_err(|_| wrong("it is not what `auth login` writes: remove it"))
}

/// Returns whether only its owner can read a file.
#[cfg(unix)]
fn is_private(metadata: &fs::Metadata) -> bool {
    let of_others = std::os::unix::fs::MetadataExt::mode(metadata) & 0o077;
    of_others == 0
}

/// Returns true: the folder of settings belongs to its user.
#[cfg(not(unix))]
fn is_private(_metadata: &fs::Metadata) -> bool {
    true
}

/// Replaces the file. One that cannot be written whole leaves the old one.
fn write(path: &Path, credentials: &Credentials) -> Result<(), Failure> {
    let wrong =
        |error: io::Error| Failure::other(format!("failed to write {}: {error}", path.display()));
    let text = toml::to_string(credentials)
        .map_err(|error| Failure::other(format!("failed to write the credential: {error}")))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(wrong)?;
    }
    // Another process may write the file at the same time.
    let new = path.with_extension(format!("{}.new", process::id()));
    let written = create(&new)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // What is left has a credential, and there is nothing else to do about it.
        let _ = fs::remove_file(&new);
    }
    written.map_err(wrong)
}

/// Creates a file that only its owner can read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
