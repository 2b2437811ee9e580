//! Builds the load balancer on Pingora that `cargo xtask bench balance` measures on request.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::pip;

/// What a dependency of Pingora is compiled with, if it is not installed.
const CMAKE: &str = "cmake==4.1.3";

/// Builds the program in `tests/pingora`, with optimisations. Returns its path.
pub(super) fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let target = root.join("target/pingora");
    let mut command = launch::cargo();
    command
        .args(["build", "--quiet", "--release", "--manifest-path"])
        .arg(root.join("tests/pingora/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target);
    if !is_installed("cmake") {
        let folder = target.join("cmake");
        pip::install(&folder, &[CMAKE], &[]).context("Pingora needs cmake")?;
        command.env("CMAKE", folder.join("cmake/data/bin/cmake"));
    }
    let status = command.status().context("failed to start cargo")?;
    if !status.success() {
        bail!("the load balancer on Pingora cannot be built: its errors are above");
    }
    Ok(target.join("release/pingora"))
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    let command = command.arg("--version").stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
