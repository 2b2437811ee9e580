//! The commands of this workspace: `cargo xtask codegen`, `lint`, `test` and so on.
//!
//! Those that concern a contract are in `stratus_commands`. Each other command has a file of its
//! own, with its arguments and a function `run`. This file parses the arguments, calls that function
//! and exits with the code that it returns.

mod bench;
mod conformance;
mod corpus;
mod editors;
mod examples;
mod figures;
mod mutants;
mod npm;
mod page;
mod pip;
mod postgres;
mod proxies;
mod running;
mod serve;
mod soak;
mod test;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use stratus_commands::{Exit, Progress, workspace};

/// Reading a contract allocates millions of small values, which takes a quarter less time with this.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    #[command(flatten)]
    Contract(stratus_commands::Command),
    Test(test::Arguments),
    Serve(serve::Arguments),
    Conformance(conformance::Arguments),
    Page(page::Arguments),
    Editors(editors::Arguments),
    Postgres(postgres::Arguments),
    Proxies(proxies::Arguments),
    Examples(examples::Arguments),
    Bench(bench::Arguments),
    Soak(soak::Arguments),
    Mutants(mutants::Arguments),
    Figures(figures::Arguments),
    Corpus(corpus::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Not locked: the threads of the language server write too.
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let done = match &arguments.command {
        Command::Contract(command) => command.run(&mut out, &mut err),
        Command::Test(arguments) => test::run(arguments, &mut out),
        Command::Serve(arguments) => serve::run(arguments, &mut out),
        Command::Conformance(arguments) => conformance::run(arguments, &mut out),
        Command::Page(arguments) => page::run(arguments, &mut out),
        Command::Editors(arguments) => editors::run(arguments, &mut out),
        Command::Postgres(arguments) => postgres::run(arguments, &mut out),
        Command::Proxies(arguments) => proxies::run(arguments, &mut out),
        Command::Examples(arguments) => examples::run(arguments, &mut out),
        Command::Bench(arguments) => bench::run(arguments, &mut out),
        Command::Soak(arguments) => soak::run(arguments, &mut out),
        Command::Mutants(arguments) => mutants::run(arguments, &mut out),
        Command::Figures(arguments) => figures::run(arguments, &mut out),
        Command::Corpus(arguments) => corpus::run(arguments, &mut out),
    };
    let exit = done.unwrap_or_else(|error| {
        // A reader that closed the pipe cannot read the error, so a failed write is ignored.
        let _ = writeln!(err, "error: {error:#}");
        Exit::Failed
    });
    exit.into()
}
