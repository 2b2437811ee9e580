//! Runs the program as a terminal does, for every test of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the folder of the documents that the tests read.
pub(crate) fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents")
}

/// Runs a command in a folder; returns its exit code and all that it has printed.
pub(crate) fn xtask(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .current_dir(folder)
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("the program runs");
    let printed = String::from_utf8([stderr, stdout].concat()).expect("xtask prints text");
    (status.code().expect("xtask ends without a signal"), printed)
}
