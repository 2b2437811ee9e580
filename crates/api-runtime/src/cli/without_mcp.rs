//! `mcp` of a program that was built without the feature of this name: says how to have it.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::builtin;
use super::description::Description;
use super::failure::Failure;

/// Returns why there is no command `mcp`, if arguments ask for it and could not be parsed for that.
pub(super) fn is_missing(
    program: &str,
    description: &Description,
    error: &clap::Error,
) -> Option<Failure> {
    let name = builtin::free_name(description, "mcp", "program-mcp");
    let is_asked_for = error.kind() == ErrorKind::InvalidSubcommand
        && error.get(ContextKind::InvalidSubcommand)
            == Some(&ContextValue::String(name.to_owned()));
    is_asked_for.then(|| {
        Failure::usage(format!(
            "this `{program}` was built without the feature `mcp`, which the command `{name}` needs: install it with that \
             feature, such as by `cargo install --path . --features mcp` in the folder of its crate"
        ))
    })
}
