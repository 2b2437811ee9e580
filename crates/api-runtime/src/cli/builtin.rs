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

/// Returns the name of a command that every program has: `wanted`, unless the API has such a command.
pub(super) fn free_name(
    description: &Description,
    wanted: &'static str,
    other: &'static str,
) -> &'static str {
    let mut groups = description.groups.iter().map(|group| &group.name);
    let mut operations = description.operations.iter();
    let is_taken = groups.any(|name| name == wanted)
        || operations.any(|one| one.group.is_none() && one.name == wanted);
    if is_taken { other } else { wanted }
}

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
