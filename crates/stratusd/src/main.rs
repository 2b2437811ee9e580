//! `stratusd`: the service and what its operator does with it.

// These panic when nobody reads; `commands::say` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use commands::{Arguments, Unread};

fn main() -> ExitCode {
    let read = || -> Result<_, clap::Error> {
        let matches = Arguments::command().try_get_matches()?;
        Ok((Arguments::from_arg_matches(&matches)?, matches))
    };
    let (arguments, matches) = match read() {
        Ok(read) => read,
        Err(error) => commands::name_variable(error).exit(),
    };
    match commands::run(&arguments, &matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Unread>() => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever closed the other end does not read this either.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
