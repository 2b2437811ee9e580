//! Folders of documents and test cases that are not part of this repository.

use std::path::PathBuf;

/// Returns the folder that an environment variable names, or `None` if it names no folder, so that
/// the test is skipped.
///
/// # Panics
///
/// In CI, if the variable names no folder: nothing is skipped there.
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
