//! `stratusd key`: the keys that seal passwords.

use anyhow::{Context, Result};
use clap::ArgMatches;
use stratusd::reseal::reseal_all;
use stratusd::seal::Sealer;
use stratusd::settings::{KeyGiven, SettingsFile, StoreGiven};
use stratusd::world::World;

/// Make and rotate the keys that seal passwords at rest
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Generate(Generate),
    Rotate(Rotate),
}

/// Print a new key, a line for the file of keys
#[derive(Debug, clap::Args)]
pub struct Generate {}

/// Seal everything with the current key that was sealed with another one
///
/// To rotate: add a new key after the current one and restart every replica, move it to the front and restart every
/// replica, run this, and take the old key away.
#[derive(Debug, clap::Args)]
pub struct Rotate {
    #[command(flatten)]
    store: StoreGiven,
    #[command(flatten)]
    keys: KeyGiven,
}

pub fn run(command: &Command, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    match command {
        Command::Generate(_) => super::say(&*Sealer::generate_key(&World::real())),
        Command::Rotate(arguments) => rotate(arguments, matches, file),
    }
}

fn rotate(arguments: &Rotate, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.settle(matches, file)?;
    let sealer = super::sealer(&arguments.keys.settle(matches, file)?)?;
    let count = super::block_on(async {
        let store = super::open(&settings).await?;
        let count = reseal_all(&store, &sealer, &World::real())
            .await
            .context("failed to seal everything again");
        store.close().await;
        count
    })?;
    super::say(format_args!(
        "sealed {count} secrets with the current key; nothing is sealed with another one"
    ))
}
