//! What the commands for completion and man pages do.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::ArgMatches;
use clap_complete::Shell;

use super::super::Program;
use super::super::command::command;
use super::super::description::Description;
use super::super::failure::Failure;

/// Prints the script of a shell.
pub(in crate::cli) fn print_completions(
    program: &Program,
    description: &'static Description,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let mut command = command(program, description);
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        // Into memory first: the generator panics if it cannot write, as into a pipe that is
        // closed.
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut command, program.name, &mut script);
        return io::stdout()
            .write_all(&script)
            .map_err(|error| Failure::output(&error));
    }
    Ok(())
}

/// Writes the man pages.
pub(in crate::cli) fn write_manual(
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
