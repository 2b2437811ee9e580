//! The programs of PostgreSQL on this machine.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Returns the path of a PostgreSQL binary: on `PATH`, where `pg_config` says, or where Debian
/// installs it. A folder with all of a server comes before one with only some of its programs:
/// those that Debian has on `PATH` are scripts, which look for the program at each start.
///
/// # Panics
///
/// If the binary is in none of these folders.
pub fn binary(name: &str) -> PathBuf {
    lookup_binary(name).unwrap_or_else(|| {
        panic!(
            "install PostgreSQL (its `{name}` is missing), or run `cargo xtask test --no-postgres`"
        )
    })
}

/// Returns the path of a PostgreSQL binary as [`binary`] does, or `None` if it is in none of the folders.
pub fn lookup_binary(name: &str) -> Option<PathBuf> {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let folders = FOLDERS.get_or_init(folders);
    let mut paths = folders.iter().map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(said) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(String::from_utf8_lossy(&said.stdout).trim().into());
    }
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.path().join("bin"))
                .collect()
        })
        .unwrap_or_default();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    folders.sort_by_key(|folder| !folder.join("initdb").is_file());
    folders
}
