//! `mcp` of a program that was built without the feature of this name: says how to have it.

use clap::{Arg, Command};

use super::builtin;
use super::description::Description;
use super::failure::Failure;

/// Returns the name of the command.
pub(super) fn name(description: &Description) -> &'static str {
    builtin::free_name(description, "mcp", "program-mcp")
}

/// Returns the command, which takes any arguments and is in no help.
pub(super) fn command(description: &Description) -> Command {
    Command::new(name(description))
        .hide(true)
        .disable_help_flag(true)
        .arg(
            Arg::new("arguments")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true),
        )
}

/// Returns why the command does nothing.
pub(super) fn failure(program: &str, description: &Description) -> Failure {
    let name = name(description);
    Failure::usage(format!(
        "this `{program}` was built without the feature `mcp`, which the command `{name}` needs: install it with that \
         feature, such as by `cargo install --path . --features mcp` in the folder of its crate"
    ))
}
