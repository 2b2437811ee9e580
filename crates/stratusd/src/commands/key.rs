//! `stratusd key`: generates and rotates encryption keys.

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use stratusd::reseal::{Rotation, Unreadable, reseal_all};
use stratusd::seal::Sealer;
use stratusd::settings::{KeyArguments, SettingsFile, StoreArguments};
use stratusd::world::World;

use super::output::print;
use super::sealer::sealer;
use super::store::{block_on, open};

/// Generate and rotate the keys that encrypt stored passwords
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Generate(Generate),
    Rotate(Rotate),
}

/// Print a new key, ready to append to the file of keys
#[derive(Debug, clap::Args)]
pub struct Generate {}

/// Encrypt everything with the current key that is encrypted with another key
///
/// To rotate a key without downtime:
///
/// 1. Add a new key after the current one, and restart every replica.
/// 2. Move the new key to the front, and restart every replica.
/// 3. Run this command.
/// 4. Remove the old key, and restart every replica.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Rotate {
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    keys: KeyArguments,
}

pub fn run(command: &Command, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    match command {
        Command::Generate(_) => print(&*Sealer::generate_key(&World::real())),
        Command::Rotate(arguments) => rotate(arguments, matches, file),
    }
}

fn rotate(arguments: &Rotate, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.resolve(matches, file)?;
    let sealer = sealer(&arguments.keys.resolve(matches, file)?)?;
    let rotation = block_on(async {
        let store = open(&settings).await?;
        let rotation = reseal_all(&store, &sealer, &World::real())
            .await
            .context("failed to rotate the encryption keys");
        store.close().await;
        rotation
    })?;
    let Rotation {
        resealed,
        unreadable,
    } = rotation;
    if unreadable.count == 0 {
        return print(format_args!(
            "re-encrypted {resealed} secrets; all secrets now use the current key"
        ));
    }
    print(format_args!("re-encrypted {resealed} secrets"))?;
    let Unreadable { count, named } = unreadable;
    let more = if named.len() < count { ", …" } else { "" };
    bail!(
        "{count} secrets are encrypted with a key that is not among the encryption keys, or are damaged, and were left \
         as they are: {}{more}. Add their key and run this again; or, if it is lost, set new passwords for these \
         databases, and remove the old key a day later, when the stored responses have ended",
        named.join(", ")
    )
}
