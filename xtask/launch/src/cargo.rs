//! Cargo, as a shell starts it.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Arguments of a build whose dependencies have the features that the tests of the whole workspace
/// select, so that a build of both compiles each dependency once.
///
/// Cargo selects them if it builds a test with a program, for which a small one is named.
pub(crate) const AS_FOR_TESTS: [&str; 3] = ["--workspace", "--test", "mutants"];

/// Returns a command that starts cargo: the one that runs this program, if one does, so that its
/// toolchain stays the same throughout.
///
/// Cargo tells a program that it runs which package the program is of. These variables are not passed
/// on: the build script of `ring` takes them for a change, and everything that uses TLS would be
/// compiled again.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_package) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs a command of cargo that builds a program, and returns the path of the program.
///
/// # Errors
///
/// Returns an error if cargo cannot be started, if it fails, or if it builds no such program.
pub(crate) fn program(mut build: Command, name: &str) -> anyhow::Result<PathBuf> {
    let output = build
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("failed to start cargo")?;
    if !output.status.success() {
        bail!("{name} does not build");
    }
    // The path depends on the configuration of cargo, so it is read from what cargo reports.
    let messages = String::from_utf8(output.stdout)?;
    let mut executables = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name && message["target"]["kind"][0] == "bin";
        let path = message["executable"].as_str().filter(|_| is_it)?;
        Some(PathBuf::from(path))
    });
    executables
        .next_back()
        .with_context(|| format!("cargo does not say where {name} is"))
}

/// Returns whether a variable says which package a program is of.
fn is_of_package(variable: &str) -> bool {
    ["CARGO_MANIFEST_", "CARGO_PKG_"]
        .iter()
        .any(|start| variable.starts_with(start))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::cargo;

    #[test]
    fn cargo_is_not_told_the_package_of_the_program_that_starts_it() {
        let command = cargo();
        let kept: Vec<&OsStr> = command.get_envs().map(|(name, _)| name).collect();
        // Cargo and nextest set these for every test.
        for name in [
            "CARGO_MANIFEST_DIR",
            "CARGO_PKG_NAME",
            "CARGO_PKG_VERSION_MAJOR",
        ] {
            assert!(std::env::var_os(name).is_some(), "{name}");
            assert!(kept.contains(&OsStr::new(name)), "{name}");
        }
        assert!(command.get_envs().all(|(_, value)| value.is_none()));
        assert!(!kept.contains(&OsStr::new("CARGO_TARGET_DIR")));
    }
}
