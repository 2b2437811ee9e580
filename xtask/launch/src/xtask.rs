//! The build of `xtask` that runs the tests.

use std::path::PathBuf;

use crate::cargo::{AS_FOR_TESTS, cargo, program};

/// Builds `xtask` for `cargo xtask test`, and returns its path.
///
/// Its dependencies are those of the tests, which compile none of them a second time.
///
/// # Errors
///
/// Returns an error if cargo cannot be started, or if `xtask` or its dependencies do not compile.
pub fn xtask_for_tests() -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--quiet", "--bin", "xtask"])
        .args(AS_FOR_TESTS);
    program(build, "xtask")
}
