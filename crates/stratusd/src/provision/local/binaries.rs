//! The programs of the versions of PostgreSQL that are installed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The versions that databases of the contract can have.
const VERSIONS: [&str; 3] = ["16", "17", "18"];

/// The folders with the programs of each major version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binaries(BTreeMap<&'static str, PathBuf>);

impl Binaries {
    /// Looks for programs in folders, and where distributions put them. The first folder that has a
    /// version counts.
    #[must_use]
    pub fn find(folders: &[PathBuf]) -> Self {
        let usual = VERSIONS.map(|version| format!("/usr/lib/postgresql/{version}/bin").into());
        let mut found = BTreeMap::new();
        for folder in folders.iter().chain(&usual) {
            if let Some(version) = version(folder) {
                found.entry(version).or_insert_with(|| folder.clone());
            }
        }
        Self(found)
    }

    /// Returns the versions that databases can have.
    pub fn versions(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Returns the folders of the programs.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.0.values().map(PathBuf::as_path)
    }

    /// Returns whether no version was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path of a program of a version, or `None` if the version is not installed.
    pub(super) fn program(&self, version: &str, name: &str) -> Option<PathBuf> {
        Some(self.0.get(version)?.join(name))
    }
}

/// Returns the major version of the programs in a folder, or `None` if it does not have them.
fn version(folder: &Path) -> Option<&'static str> {
    if !folder.join("initdb").is_file() {
        return None;
    }
    let mut postgres = Command::new(folder.join("postgres"));
    let output = postgres
        .arg("--version")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    // Such as `postgres (PostgreSQL) 17.10 (Debian 17.10-1)`.
    let text = String::from_utf8(output.stdout).ok()?;
    let number = text.strip_prefix("postgres (PostgreSQL) ")?;
    let major = number.split(|end: char| !end.is_ascii_digit()).next()?;
    VERSIONS.into_iter().find(|version| *version == major)
}
