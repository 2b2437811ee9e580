//! The programs of the versions of PostgreSQL that are installed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

/// The versions that databases of the contract can have.
const VERSIONS: [&str; 3] = ["16", "17", "18"];

/// The programs of the new version that `pg_upgrade` runs, beside itself, and of the old one.
const NEW: [&str; 9] = [
    "pg_upgrade",
    "pg_ctl",
    "pg_controldata",
    "pg_resetwal",
    "pg_dump",
    "pg_dumpall",
    "pg_restore",
    "psql",
    "vacuumdb",
];
const OLD: [&str; 3] = ["pg_ctl", "pg_controldata", "pg_resetwal"];

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

    /// Returns the folder of the programs of a version, or `None` if the version is not installed.
    pub(super) fn folder(&self, version: &str) -> Option<&Path> {
        self.0.get(version).map(PathBuf::as_path)
    }

    /// Returns each version with those that databases can be upgraded to from it.
    pub fn upgrades(&self) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
        // In order, since all have two digits.
        self.versions().map(|from| {
            let later = self.versions().filter(|to| *to > from);
            let to = later.filter(|to| self.ensure_upgrade(from, to).is_ok());
            (from, to.collect())
        })
    }

    /// Checks that all programs are there which upgrade a database from one version to another.
    ///
    /// # Errors
    ///
    /// If one is missing.
    pub fn ensure_upgrade(&self, from: &str, to: &str) -> Result<(), CannotUpgrade> {
        for (version, programs) in [(to, &NEW[..]), (from, &OLD)] {
            let Some(folder) = self.folder(version) else {
                return Err(CannotUpgrade::NotInstalled(version.to_owned()));
            };
            let missing = programs.iter().find(|name| !folder.join(name).is_file());
            if let Some(name) = missing {
                return Err(CannotUpgrade::Missing(
                    name,
                    version.to_owned(),
                    folder.to_owned(),
                ));
            }
        }
        Ok(())
    }
}

/// Why no database can be upgraded to a version on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CannotUpgrade {
    /// One of the versions is not installed.
    #[error("PostgreSQL {0} is not installed on this machine, or local_binaries does not name it")]
    NotInstalled(String),
    /// A program of a version is missing in its folder.
    #[error(
        "PostgreSQL {1} in {2:?} has no `{0}`, which an upgrade needs: install the packages of server and client of \
         your distribution, or create a database of the other version, and copy with `pg_dump` and `psql`"
    )]
    Missing(&'static str, String, PathBuf),
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
