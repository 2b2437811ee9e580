//! `stratusd databases`: prints the databases whose last step has failed or whose storage is nearly full.

use anyhow::{Context, Result};
use clap::{ArgMatches, ValueEnum};
use serde_json::json;
use stratusd::domain::postgres::{is_nearly_full, used_percent};
use stratusd::settings::{SettingsFile, StoreArguments};
use stratusd::storage::Store;
use stratusd::storage::troubled::{Troubled, failing, nearly_full};

use super::output::print;
use super::store::{block_on, open};

/// Print the Postgres databases whose last step has failed, with the reason, and those whose storage is nearly full
///
/// The service tries failed steps again by itself. A database that its provisioner has lost is among
/// them: it stays unavailable until the provisioner has it again, or its owner deletes it.
///
/// Storage is nearly full if at least 90 % of it is used. A database on the machine of its service is
/// read-only from 95 % on until it is below 90 %, or its owner lets it grow.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of databases, at most 100000. Those that are tried again first are printed first.
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
            "used_percent": used(of),
        })),
    })
}

async fn read(store: &Store, limit: u32) -> Result<Vec<Troubled>> {
    let mut reader = store.reader().await?;
    let connection = &mut reader.connection();
    let mut all = failing(connection, limit.into()).await?;
    let left = i64::from(limit) - i64::try_from(all.len())?;
    all.extend(nearly_full(connection, left).await?);
    Ok(all)
}

/// Returns how much of its storage a database uses, in percent.
fn used(of: &Troubled) -> i64 {
    used_percent(of.used_bytes, of.storage_size_gib.get().into())
}

fn print_text(of: &Troubled) -> Result<()> {
    let mut text = format!(
        "{} ({}) of {} in {}: {}",
        of.name, of.id, of.project_id, of.location, of.state
    );
    if of.attempts > 0 {
        let failure = of.failure.as_deref().unwrap_or("the reason is in the log");
        text += &format!(", {} failed steps: {failure}", of.attempts);
    }
    if is_nearly_full(of.used_bytes, of.storage_size_gib.get().into()) {
        text += &format!(", its storage is {} % full", used(of));
    }
    print(text)
}
