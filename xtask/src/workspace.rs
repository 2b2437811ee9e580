//! Finds the workspace around the current folder, and the cargo to run in it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// Returns the nearest folder, from the current one upwards, with a workspace manifest, or `None`
/// if there is none.
pub(crate) fn lookup_root() -> anyhow::Result<Option<PathBuf>> {
    let current = env::current_dir().context("failed to tell the current folder")?;
    let is_root = |folder: &&Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.trim() == "[workspace]")
    };
    Ok(current.ancestors().find(is_root).map(Path::to_owned))
}

/// Returns the folder of the workspace, or an error if the current folder is outside of one.
pub(crate) fn root() -> anyhow::Result<PathBuf> {
    match lookup_root()? {
        Some(root) => Ok(root),
        None => {
            bail!("no Cargo.toml with a [workspace] is here or above: run this in the workspace")
        }
    }
}

/// Returns the full path of a file or folder, given by its path in the workspace. If the current
/// folder is the workspace's root, returns the path as it is, so that messages stay short.
pub(crate) fn in_root(path: &str) -> anyhow::Result<PathBuf> {
    let root = root()?;
    let current = env::current_dir().context("failed to tell the current folder")?;
    Ok(if root == current {
        PathBuf::from(path)
    } else {
        root.join(path)
    })
}

/// Returns whether two paths lead to the same existing file or folder.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Returns the cargo that runs this program, so that its toolchain stays the same throughout.
pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
