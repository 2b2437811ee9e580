//! `cargo xtask lint`: reports the diagnostics of a document, and writes nothing.

use std::io::Write;
use std::path::PathBuf;

use contract::{LintSet, diagnostic};

use crate::exit::Exit;
use crate::reading::Reading;

/// Report what is wrong with a document, without writing anything
///
/// Exit codes: 0 the document has no errors, 1 it has, 2 the arguments are wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The OpenAPI 3.0, 3.1 or 3.2 document
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// A set of lints to run beside `correct`, which always runs; may be repeated
    #[arg(long = "set", value_name = "SET", value_enum)]
    sets: Vec<Set>,
}

/// A set of lints, as an argument.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Set {
    /// What the standard forbids, and what probably does not say what its author means
    Correct,
    /// What is right, but serves callers or servers badly, such as a request array without a bound
    Style,
}

impl From<Set> for LintSet {
    fn from(set: Set) -> Self {
        match set {
            Set::Correct => Self::Correct,
            Set::Style => Self::Style,
        }
    }
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let options = contract::Options {
        sets: arguments.sets.iter().copied().map(LintSet::from).collect(),
        ..arguments.reading.options()
    };
    let loaded = contract::load_with(&arguments.file, &options);
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
