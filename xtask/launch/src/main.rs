//! `cargo xtask`: serves the demo at once, and builds `xtask` for every other command.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use launch::{Addresses, cargo, serve};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let error = match Addresses::of_arguments(&arguments) {
        Some(addresses) => serve(addresses, &mut io::stdout()),
        // Help and wrong arguments of `serve` are for `xtask` too.
        None => xtask(&arguments),
    };
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

/// Replaces this process by `xtask`. Returns the error if that fails.
fn xtask(arguments: &[OsString]) -> anyhow::Error {
    let mut run = cargo();
    run.args(["run", "--quiet", "--package", "xtask", "--"])
        .args(arguments);
    anyhow::Error::new(run.exec()).context("failed to start cargo")
}
