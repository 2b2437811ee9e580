//! Finds the workspace around the current folder, the cargo to run in it, and the words that call
//! this program.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use codegen::emit::absolute;
use toml_edit::DocumentMut;

/// Returns the nearest folder, from the current one upwards, with a workspace manifest, or `None`
/// if there is none.
pub fn lookup_root() -> anyhow::Result<Option<PathBuf>> {
    let current = env::current_dir().context("failed to tell the current folder")?;
    let is_root = |folder: &&Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        // One that cannot be read may be broken for a moment, in an editor.
        match manifest.parse::<DocumentMut>() {
            Ok(manifest) => manifest.contains_key("workspace"),
            Err(_) => manifest.lines().any(|line| line.trim() == "[workspace]"),
        }
    };
    Ok(current.ancestors().find(is_root).map(Path::to_owned))
}

/// Returns the folder of the workspace, or an error if the current folder is outside of one.
pub fn root() -> anyhow::Result<PathBuf> {
    match lookup_root()? {
        Some(root) => Ok(root),
        None => {
            bail!("no Cargo.toml with a [workspace] is here or above: run this in the workspace")
        }
    }
}

/// Returns the full path of a file or folder, given by its path in the workspace. If the current
/// folder is the workspace's root, returns the path as it is, so that messages stay short.
pub fn in_root(path: &str) -> anyhow::Result<PathBuf> {
    let root = root()?;
    let current = env::current_dir().context("failed to tell the current folder")?;
    Ok(if root == current {
        PathBuf::from(path)
    } else {
        root.join(path)
    })
}

/// Returns the path of a file or folder as seen from a folder, with the separators of manifests.
pub fn path_from(target: &Path, folder: &Path) -> anyhow::Result<String> {
    let full = |path| absolute(path).context("failed to tell the current folder");
    let (target, folder) = (full(target)?, full(folder)?);
    let same = target
        .components()
        .zip(folder.components())
        .take_while(|(one, other)| one == other)
        .count();
    let ups = folder.components().skip(same).map(|_| "..".to_owned());
    let downs = target.components().skip(same);
    let downs = downs.map(|part| part.as_os_str().to_string_lossy().into_owned());
    Ok(ups.chain(downs).collect::<Vec<_>>().join("/"))
}

/// Returns the words that call this program: `cargo xtask` for a program `xtask`, and `cargo
/// stratus` for `cargo-stratus`, which cargo finds by that name.
#[must_use]
pub fn called() -> String {
    let path = env::current_exe().unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.strip_prefix("cargo-").unwrap_or(&stem);
    format!("cargo {name}")
}
