//! `cargo xtask soak`: a long mixed load on the service, on both databases.

use std::io::Write;

use anyhow::Context as _;

use crate::Exit;
use crate::workspace;

/// Load the service with 256 connections, on SQLite and then on PostgreSQL
///
/// Fails on an unexpected response and if the memory of the service grows, and prints how many
/// requests there were, how long they took, and the memory. The tests run it for 5 seconds.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How long to load each database
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    /// Load only SQLite
    #[arg(long)]
    no_postgres: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    // Another command's output must not overtake ours.
    out.flush()?;
    let mut tests = launch::cargo();
    tests
        .args(["test", "--release", "--package", "stratusd"])
        .args(["--test", "service", "soak::"])
        // One database after the other: each is to have the machine for itself.
        .args(["--", "--nocapture", "--test-threads", "1"])
        .env("STRATUS_SOAK_SECONDS", (arguments.minutes * 60).to_string())
        .current_dir(&root);
    if arguments.no_postgres {
        tests.env("STRATUS_TEST_NO_POSTGRES", "1");
    }
    let status = tests.status().context("failed to start cargo")?;
    Ok(if status.success() {
        Exit::Fresh
    } else {
        Exit::Failed
    })
}
