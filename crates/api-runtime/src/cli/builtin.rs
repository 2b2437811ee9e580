//! The commands that every program has: completion for shells, and man pages.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use clap_complete::Shell;

use super::Program;
use super::command::command;
use super::description::Description;
use super::failure::Failure;

pub(super) fn completions() -> Command {
    let shell = Arg::new("shell")
        .value_name("SHELL")
        .required(true)
        .value_parser(value_parser!(Shell))
        .help("The shell");
    Command::new("completions")
        .about("Print the script that makes a shell complete commands, flags and values")
        .arg(shell)
}

pub(super) fn manual() -> Command {
    let folder = Arg::new("folder")
        .value_name("DIR")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::DirPath)
        .help("The folder, which is made unless it exists");
    Command::new("man")
        .about("Write a man page for each command into a folder")
        .arg(folder)
}

/// Prints the script of a shell.
pub(super) fn print_completions(
    program: &Program,
    description: &'static Description,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let mut command = command(program, description);
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut command, program.name, &mut script);
        return io::stdout()
            .write_all(&script)
            .map_err(|error| Failure::output(&error));
    }
    Ok(())
}

/// Writes the man pages.
pub(super) fn write_manual(
    program: &Program,
    description: &'static Description,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    if let Some(folder) = matches.get_one::<PathBuf>("folder") {
        let written = fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command(program, description), folder));
        return written.map_err(|error| {
            Failure::other(format!("failed to write {}: {error}", folder.display()))
        });
    }
    Ok(())
}
