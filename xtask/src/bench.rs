//! `cargo xtask bench`: figures and ratios, for docs/benchmarks.md.

use std::io::Write;

use crate::exit::Exit;

/// Measure the generator and what it generates
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    writeln!(out, "no benchmark is registered")?;
    Ok(Exit::Fresh)
}
