//! Finds the file of a contract's policy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::read::{Policy, Wrong};

/// The name of the file.
pub const FILE: &str = "contract.toml";

/// The largest policy that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The reason why there is no policy although one was asked for or found.
#[derive(Debug)]
pub enum NotFound {
    /// The file cannot be read.
    Unreadable(PathBuf, io::Error),
    /// The file has more than a MiB.
    TooLarge(PathBuf),
    /// The file is no policy.
    Wrong(Box<Wrong>),
}

impl Policy {
    /// Reads the policy of a document: `contract.toml` in the folder of the document, or else in the
    /// nearest folder above it, up to the root of the git repository. Returns a policy that changes
    /// nothing if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if there is a file that cannot be read, or is no policy.
    pub fn find(document: &Path) -> Result<Self, NotFound> {
        lookup(document).map_or_else(|| Ok(Self::default()), |path| Self::load(&path))
    }

    /// Reads the file for a folder: `contract.toml` in it, or else in the nearest folder above it, up
    /// to the root of the git repository. Returns `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if there is a file that cannot be read, or is wrong.
    pub fn around(folder: &Path) -> Result<Option<Self>, NotFound> {
        let beside = folder.join(FILE);
        let path = if beside.is_file() {
            Some(beside)
        } else {
            // The empty path, which is the current folder, has no full one.
            let whole = folder.join(".").canonicalize().ok();
            whole.and_then(|whole| above(&whole))
        };
        path.map(|path| Self::load(&path)).transpose()
    }

    /// Reads a policy from a file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is no policy.
    pub fn load(path: &Path) -> Result<Self, NotFound> {
        let unreadable = |error| NotFound::Unreadable(path.to_owned(), error);
        if fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
            return Err(NotFound::TooLarge(path.to_owned()));
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        Self::read(&path.display().to_string(), &text).map_err(NotFound::Wrong)
    }
}

/// Returns the path of the policy of a document, if there is one.
fn lookup(document: &Path) -> Option<PathBuf> {
    let beside = document.parent().unwrap_or(Path::new(""));
    let file = beside.join(FILE);
    if file.is_file() {
        return Some(file);
    }
    above(document.canonicalize().ok()?.parent()?)
}

/// Returns the path of the nearest file in a folder above one, up to the root of the git repository.
fn above(folder: &Path) -> Option<PathBuf> {
    let mut above: Vec<&Path> = folder.ancestors().collect();
    // Outside of a repository, a folder further up belongs to somebody else.
    let root = above
        .iter()
        .position(|folder| folder.join(".git").exists())?;
    above.truncate(root + 1);
    above
        .into_iter()
        // The caller has looked in the folder itself.
        .skip(1)
        .map(|folder| folder.join(FILE))
        .find(|file| file.is_file())
}
