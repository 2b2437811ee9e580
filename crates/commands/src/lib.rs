//! The commands that concern a contract: `codegen`, `lint`, `diff`, `overlay`, `lsp` and, with the
//! feature `mock`, `mock` and `preview`.
//!
//! Start at [`main`], which is the whole of a program with these commands, such as the xtask of a
//! repository. A program with more commands has a [`Command`] among its own, as in
//! `#[command(flatten)] Contract(stratus_commands::Command)`. Each command has a file of its own,
//! with its arguments and a function `run`.
//!
//! Messages name the program as cargo calls it: `cargo xtask` if the program is `xtask`, and `cargo
//! stratus` if it is `cargo-stratus`.
//!
//! Deliberately not here: the commands of one workspace, such as its tests (see `xtask`).

pub mod workspace;

mod codegen;
mod contracts;
mod diff;
mod exit;
mod forms;
mod git;
mod lint;
mod lsp;
#[cfg(feature = "mock")]
mod mock;
mod overlay;
mod policy;
#[cfg(feature = "mock")]
mod preview;
mod progress;
mod reading;
mod repairs;
mod replace;
mod versions;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

pub use exit::Exit;
pub use progress::Progress;

/// The commands that concern a contract: its crates, and what is wrong with it
#[derive(Debug, clap::Parser)]
#[command(version, disable_help_subcommand = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

/// Runs the command of the program's arguments, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    let called = workspace::called();
    let parser = Program::command()
        .display_name(called.clone())
        .bin_name(called);
    let matches = parser.get_matches_from(arguments());
    let program = Program::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // Not locked: the threads of the language server write too.
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let done = program.command.run(&mut out, &mut err);
    let exit = done.unwrap_or_else(|error| {
        // A reader that closed the pipe cannot read the error, so a failed write is ignored.
        let _ = writeln!(err, "error: {error:#}");
        Exit::Failed
    });
    exit.into()
}

/// Returns the arguments of this program. Cargo passes the name of a subcommand, such as `stratus`,
/// as the first one to `cargo-stratus`, and it is left out.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let called = workspace::called();
    let name = called.trim_start_matches("cargo ");
    if arguments.get(1).is_some_and(|first| first == name) {
        arguments.remove(1);
    }
    arguments
}

/// A command that concerns a contract, with its arguments.
#[derive(Debug, clap::Subcommand)]
#[expect(
    missing_docs,
    reason = "the help of a command is that of its arguments"
)]
pub enum Command {
    Codegen(codegen::Arguments),
    Lint(lint::Arguments),
    Diff(diff::Arguments),
    Overlay(overlay::Arguments),
    Lsp(lsp::Arguments),
    #[cfg(feature = "mock")]
    Mock(mock::Arguments),
    #[cfg(feature = "mock")]
    Preview(preview::Arguments),
}

impl Command {
    /// Runs the command. `out` takes what it was asked for, and `err` what is said about it.
    ///
    /// # Errors
    ///
    /// Returns an error if something cannot be read or written.
    pub fn run(&self, out: &mut dyn Write, err: &mut dyn Write) -> anyhow::Result<Exit> {
        match self {
            Self::Codegen(arguments) => codegen::run(arguments, out, err),
            Self::Lint(arguments) => lint::run(arguments, out, err),
            Self::Diff(arguments) => diff::run(arguments, out, err),
            Self::Overlay(arguments) => overlay::run(arguments, out, err),
            Self::Lsp(arguments) => Ok(lsp::run(arguments)),
            #[cfg(feature = "mock")]
            Self::Mock(arguments) => mock::run(arguments, out, err),
            #[cfg(feature = "mock")]
            Self::Preview(arguments) => preview::run(arguments, out),
        }
    }
}
