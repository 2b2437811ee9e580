//! The commands of this workspace: `cargo xtask codegen`, `lint`, `test` and so on.
//!
//! Each command has a file of its own, with its arguments and a function `run`. This file parses
//! the arguments, calls that function and exits with the code that it returns.

mod bench;
mod codegen;
mod conformance;
mod corpus;
mod diff;
mod exit;
mod lint;
mod overlay;
mod reading;
mod repairs;
mod serve;
mod service;
mod soak;
mod test;
mod workspace;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::Exit;

/// The commands of this workspace, from the contract to the crates
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Codegen(codegen::Arguments),
    Lint(lint::Arguments),
    Diff(diff::Arguments),
    Overlay(overlay::Arguments),
    Test(test::Arguments),
    Serve(serve::Arguments),
    Conformance(conformance::Arguments),
    Bench(bench::Arguments),
    Soak(soak::Arguments),
    Corpus(corpus::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    let done = match &arguments.command {
        Command::Codegen(arguments) => codegen::run(arguments, &mut out, &mut err),
        Command::Lint(arguments) => lint::run(arguments, &mut out, &mut err),
        Command::Diff(arguments) => diff::run(arguments, &mut out, &mut err),
        Command::Overlay(arguments) => overlay::run(arguments, &mut out, &mut err),
        Command::Test(arguments) => test::run(arguments, &mut out),
        Command::Serve(arguments) => serve::run(arguments, &mut out),
        Command::Conformance(arguments) => conformance::run(arguments, &mut out),
        Command::Bench(arguments) => bench::run(arguments, &mut out),
        Command::Soak(arguments) => soak::run(arguments, &mut out),
        Command::Corpus(arguments) => corpus::run(arguments, &mut out),
    };
    let exit = done.unwrap_or_else(|error| {
        // A reader that closed the pipe cannot read the error, so a failed write is ignored.
        let _ = writeln!(err, "error: {error:#}");
        Exit::Failed
    });
    exit.into()
}
