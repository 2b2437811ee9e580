//! The program `stratusd`: the service, and the commands of its operator.

// These macros panic when standard output is closed; `commands::output::print` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use commands::{Arguments, OutputClosed};

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
            // Nothing is left to do if standard error is closed too.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
