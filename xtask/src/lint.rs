//! `cargo xtask lint`: reports the diagnostics of a document, and writes nothing.

use std::io::Write;
use std::path::PathBuf;

use contract::diagnostic;

use crate::exit::Exit;
use crate::reading::Reading;

/// Report what is wrong with a document, without writing anything
///
/// Exit codes: 0 the document has no errors, 1 it has, 2 the arguments are wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The OpenAPI 3.0 or 3.1 document
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let loaded = contract::load_with(&arguments.file, &arguments.reading.options());
    write!(
        err,
        "{}",
        diagnostic::render(&loaded.sources, &loaded.diagnostics)
    )?;
    let Some(contract) = loaded.contract else {
        return Ok(Exit::Failed);
    };
    if loaded.diagnostics.is_empty() {
        writeln!(
            out,
            "nothing to say about {} operations",
            contract.operations.len()
        )?;
    }
    Ok(Exit::Fresh)
}
