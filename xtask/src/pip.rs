//! Packages of the Python package index, installed under `target/`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

/// Installs packages without what they depend on, each as a line of a file of requirements, into a folder,
/// unless exactly these are installed there. `more` are further arguments of `pip install`.
pub(crate) fn install(folder: &Path, packages: &[&str], more: &[&str]) -> anyhow::Result<()> {
    let (mark, wanted) = (folder.join("installed"), packages.join("\n"));
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    // pip leaves what is there already.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    // In a file, since pip takes no checksums on its command line.
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, &wanted)
        .with_context(|| format!("failed to write {}", requirements.display()))?;
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps"])
        .args(["--disable-pip-version-check", "--root-user-action=ignore"])
        .args(more)
        .arg("--target")
        .arg(folder)
        .arg("--requirement")
        .arg(&requirements)
        .status()
        .context("failed to start python3: install Python 3 with pip")?;
    if !status.success() {
        bail!("pip could not install {wanted}");
    }
    fs::write(&mark, wanted).with_context(|| format!("failed to write {}", mark.display()))
}
