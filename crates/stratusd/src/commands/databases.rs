//! `stratusd databases`: prints the databases whose last step has failed.

use anyhow::{Context, Result};
use clap::{ArgMatches, ValueEnum};
use serde_json::json;
use stratusd::settings::{SettingsFile, StoreArguments};
use stratusd::storage::Store;
use stratusd::storage::failing::{Failing, failing};

use super::output::print;
use super::store::{block_on, open};

/// Print the Postgres databases whose last step has failed, with the reason
///
/// The service tries them again by itself. A database that its provisioner has lost is among them: it
/// stays unavailable until the provisioner has it again, or its owner deletes it.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of databases, at most 100000. Those that are tried again first are printed.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// The format: text, or one JSON object per database and line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    store: StoreArguments,
}

/// How databases are printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.resolve(matches, file)?;
    let all = block_on(async {
        let store = open(&settings).await?;
        let all = read(&store, arguments.limit)
            .await
            .context("failed to read the databases");
        store.close().await;
        all
    })?;
    all.iter().try_for_each(|of| match arguments.format {
        Format::Text => print_text(of),
        Format::Json => print(json!({
            "project": of.project_id,
            "database": of.id,
            "location": of.location,
            "name": of.name,
            "state": of.state,
            "attempts": of.attempts,
            "failure": of.failure,
        })),
    })
}

async fn read(store: &Store, limit: u32) -> Result<Vec<Failing>> {
    let mut reader = store.reader().await?;
    Ok(failing(&mut reader.connection(), limit.into()).await?)
}

fn print_text(of: &Failing) -> Result<()> {
    let failure = of.failure.as_deref().unwrap_or("the reason is in the log");
    print(format_args!(
        "{} ({}) of {} in {}: {}, {} failed steps: {failure}",
        of.name, of.id, of.project_id, of.location, of.state, of.attempts
    ))
}
