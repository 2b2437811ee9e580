//! Cargo, as a shell starts it.

use std::env;
use std::process::Command;

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
