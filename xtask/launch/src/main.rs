//! `cargo xtask`: serves the demo at once, and builds and runs `xtask` for every other command.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use launch::{Addresses, cargo, serve, xtask_for_tests};

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
    let mut run = if arguments.first().is_some_and(|command| command == "test") {
        match xtask_for_tests() {
            Ok(path) => Command::new(path),
            Err(error) => return error,
        }
    } else {
        let mut run = cargo();
        run.args(["run", "--quiet", "--package", "xtask", "--"]);
        run
    };
    run.args(arguments);
    anyhow::Error::new(run.exec()).context("failed to start xtask")
}
