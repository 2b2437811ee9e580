//! Whether the tests that need git can run.

use std::process::Command;

/// Returns whether git is there, and prints what is skipped if it is not.
///
/// # Panics
///
/// If it is not, and the environment has `CI`.
pub(crate) fn is_installed() -> bool {
    let is_here = Command::new("git").arg("--version").output().is_ok();
    if !is_here {
        assert!(std::env::var_os("CI").is_none(), "CI must have git");
        println!("skipped: git is not installed");
    }
    is_here
}
