//! Documents and cases that are not part of this repository.

use std::path::PathBuf;

/// The folder that an environment variable names; none where it is not set, which CI does not allow.
///
/// # Panics
///
/// In CI, if the variable is not set or names no folder.
#[must_use]
pub fn folder(variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|folder| folder.is_dir());
    if folder.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "{variable} must name a folder in CI"
        );
        println!("skipped: {variable} names no folder");
    }
    folder
}
