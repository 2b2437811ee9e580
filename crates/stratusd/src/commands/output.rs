//! Standard output, which a command prints its result to.

use std::fmt::Display;
use std::io::{self, Write};

use anyhow::{Context, Result};

/// Standard output is closed, as in `stratusd config | head -1`. The program ends without an error.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub struct OutputClosed;

/// Writes a line to standard output.
///
/// # Errors
///
/// [`OutputClosed`] if standard output is closed; otherwise the reason why writing failed.
pub(super) fn print(line: impl Display) -> Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        written => written.context("failed to write to standard output"),
    }
}
