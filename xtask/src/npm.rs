//! Packages of npm, installed under `target/`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

/// Installs packages, each `NAME@VERSION`, into a folder, unless exactly these are installed there.
pub(crate) fn install(folder: &Path, packages: &[&str]) -> anyhow::Result<()> {
    let (mark, wanted) = (folder.join("installed"), packages.join(" "));
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let status = Command::new("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .args(packages)
        .status()
        .context("failed to start npm: install Node.js 18 or later with npm")?;
    if !status.success() {
        bail!("npm could not install {wanted}");
    }
    fs::write(&mark, wanted).with_context(|| format!("failed to write {}", mark.display()))
}
