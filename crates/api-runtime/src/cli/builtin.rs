//! The commands that every program has: completion for shells, and man pages.

mod run;

pub(super) use run::{print_completions, write_manual};

use std::path::PathBuf;

use clap::{Arg, Command, ValueHint, value_parser};
use clap_complete::Shell;

use super::description::Description;

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
