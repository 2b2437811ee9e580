//! The run time of generated command lines: a command for each operation, made from a description
//! of the operations that the generator wrote.
//!
//! Start at [`Program::run`]. `command` makes clap's command of the description, `input` reads
//! the values of flags and checks them against the contract, `request` makes a request of them,
//! `call` sends it, and `output` prints what came back.
//!
//! Deliberately not here: the choice between several media types of a request body (JSON if there
//! is one, else the first).

mod argument;
mod auth;
mod builtin;
mod call;
mod command;
mod config;
mod credentials;
mod curl;
mod description;
mod failure;
mod input;
mod kept;
#[cfg(feature = "mcp")]
mod mcp;
mod output;
mod pages;
mod refusal;
mod request;
mod saved;
mod secrets;
mod settings;
mod sources;
mod table;
mod terminal;
#[cfg(not(feature = "mcp"))]
mod without_mcp;
mod yaml;

use std::process::ExitCode;

use clap::ArgMatches;

use self::description::{Description, Operation};
use self::failure::Failure;
use self::settings::Settings;
use self::sources::Sources;
use crate::Schemas;

/// A program that calls the operations of an API from the command line.
///
/// Its exit codes are 0 for success, 1 for any failure that has no other, 2 if the arguments are
/// wrong and nothing was sent, 4 for a 4XX response, 5 for a 5XX response, 6 if there was no
/// response, and 7 if `--wait` ended without the value that it waits for.
#[derive(Clone, Copy)]
pub struct Program {
    /// The name that people type.
    pub name: &'static str,
    /// The version.
    pub version: &'static str,
    /// The description of the operations, in JSON, as the generator wrote it.
    pub operations: &'static str,
    /// The schemas of the contract.
    pub schemas: &'static Schemas,
}

impl Program {
    /// Runs the command of the arguments, and prints what it returns or why it failed.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let description = match Description::read(self.operations) {
            Ok(description) => description,
            Err(failure) => return failure.report(),
        };
        let matches = match command::command(&self, description).try_get_matches() {
            Ok(matches) => matches,
            Err(error) => {
                // Help on the standard output is a success, and the rest wrong arguments. The
                // exit code is the same if it cannot be printed.
                let _ = error.print();
                return if error.use_stderr() {
                    ExitCode::from(failure::USAGE)
                } else {
                    ExitCode::SUCCESS
                };
            }
        };
        match self.execute(description, &matches) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        }
    }

    fn execute(
        self,
        description: &'static Description,
        matches: &ArgMatches,
    ) -> Result<(), Failure> {
        let (names, matches) = chosen(matches);
        match names[..] {
            ["completions"] => builtin::print_completions(&self, description, matches),
            ["man"] => builtin::write_manual(&self, description, matches),
            #[cfg(feature = "mcp")]
            [command] if command == mcp::name(description) => mcp::run(&self, description, matches),
            #[cfg(not(feature = "mcp"))]
            [command] if command == without_mcp::name(description) => {
                Err(without_mcp::failure(self.name, description))
            }
            [group, command] if group == auth::name(description) => {
                let sources = Sources::read(&self, description, matches)?;
                auth::run(command, &sources)
            }
            _ => {
                let operation = description
                    .operations
                    .iter()
                    .find(|operation| operation.is_called(&names))
                    .ok_or_else(|| Failure::usage("no such command"))?;
                self.call(description, operation, matches)
            }
        }
    }

    fn call(
        self,
        description: &'static Description,
        operation: &'static Operation,
        matches: &ArgMatches,
    ) -> Result<(), Failure> {
        let settings = Settings::read(&self, description, operation, matches)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::other(format!("the program cannot start: {error}")))?;
        runtime.block_on(call::call(&settings))
    }
}

/// Returns the names of the command and its subcommands, and the arguments of the last one.
fn chosen(matches: &ArgMatches) -> (Vec<&str>, &ArgMatches) {
    let mut names = Vec::new();
    let mut matches = matches;
    while let Some((name, inner)) = matches.subcommand() {
        names.push(name);
        matches = inner;
    }
    (names, matches)
}
