//! The program `stratusd`: the service, and the commands of its operator.

// These macros panic when standard output is closed; `commands::output::print` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches};

use commands::{Arguments, OutputClosed};

/// The maximum time that the process waits, before it exits, for its error to be written.
const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    // Not `Arguments::parse`: the settings need the matches too, which know where each value comes
    // from.
    let parse = || -> Result<_, clap::Error> {
        let matches = Arguments::command().try_get_matches()?;
        Ok((Arguments::from_arg_matches(&matches)?, matches))
    };
    let (arguments, matches) = match parse() {
        Ok(parsed) => parsed,
        Err(error) => commands::name_variable(error).exit(),
    };
    match commands::run(&arguments, &matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<OutputClosed>() => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// Prints an error to standard error, but waits at most [`PATIENCE`]: standard error may be a pipe
/// whose reader has stopped.
fn report(error: &anyhow::Error) {
    let line = format!("error: {error:#}\n");
    let (written, end) = mpsc::channel();
    // Nothing is left to do if standard error is closed too, or there can be no thread.
    let _ = thread::Builder::new().spawn(move || {
        let _ = io::stderr().write_all(line.as_bytes());
        let _ = written.send(());
    });
    let _ = end.recv_timeout(PATIENCE);
}
