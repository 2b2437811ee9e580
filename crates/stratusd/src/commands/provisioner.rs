//! `stratusd provisioner`: prints what creates Postgres databases.

use anyhow::{Context as _, Result};
use clap::{ArgMatches, ValueEnum};
use serde_json::json;
use stratusd::serve::{Foreseen, foresee};
use stratusd::settings::{ProvisionerArguments, RemoteArguments, SettingsFile, StoreArguments};
use stratusd::storage::ReadOnlyStore;

use super::output::print;
use super::store::{block_on, config};

/// Print what creates Postgres databases if `stratusd serve` starts with these settings, and why
///
/// This looks at the programs, the addresses and the users of this machine, and at the databases that
/// exist, and changes nothing. A store that is not there yet counts as empty, and one that another
/// version of this program has made is refused, and not migrated.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The format: text, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    provisioner: ProvisionerArguments,
    #[command(flatten)]
    remote: RemoteArguments,
}

/// How it is printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.resolve(matches, file)?;
    let provisioner = arguments.provisioner.resolve(matches, file)?;
    let remote = arguments.remote.resolve(matches, file)?;
    let foreseen = block_on(async {
        let config = config(&settings)?;
        let store = ReadOnlyStore::open_if_made(&config).await;
        let store = store.context("failed to read the database")?;
        let foreseen = foresee((&provisioner, &remote), &config.database, store.as_ref()).await;
        if let Some(store) = store {
            store.close().await;
        }
        foreseen
    })?;
    match arguments.format {
        Format::Text => print(text(&foreseen)),
        Format::Json => print(match foreseen {
            Foreseen::Local {
                versions,
                is_isolated,
            } => json!({ "provisioner": "local", "versions": versions, "isolated": is_isolated }),
            Foreseen::Simulated { reason } => {
                json!({ "provisioner": "simulated", "reason": reason })
            }
            Foreseen::Http => json!({ "provisioner": "http" }),
        }),
    }
}

fn text(foreseen: &Foreseen) -> String {
    match foreseen {
        Foreseen::Local {
            versions,
            is_isolated,
        } => format!(
            "local: servers of PostgreSQL {} on this machine, {}",
            versions.join(", "),
            if *is_isolated {
                "each as a user of its own"
            } else {
                "all as the user of the service: the owner of one can read all others"
            }
        ),
        Foreseen::Simulated { reason } => format!("simulated: {reason}"),
        Foreseen::Http => "http: another process creates them".to_owned(),
    }
}
