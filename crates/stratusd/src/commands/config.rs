//! `stratusd config`: the settings that hold, and where each comes from.

use anyhow::Result;
use clap::ArgMatches;
use stratusd::settings::{
    KeyGiven, KeySource, Origin, ServiceGiven, SettingsFile, Shown, StoreGiven,
};

/// Print the settings that would hold, where each comes from, and no secret
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    store: StoreGiven,
    #[command(flatten)]
    keys: KeyGiven,
    #[command(flatten)]
    service: ServiceGiven,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let store = arguments.store.settle(matches, file)?;
    let keys = arguments.keys.settle(matches, file)?;
    let service = arguments.service.settle(matches, file)?;
    service.ensure_whole()?;
    let overruled = match keys.source()? {
        Some(KeySource::Text(_)) => "encryption_keys_file",
        Some(KeySource::File(_)) => "encryption_keys",
        None => "",
    };
    for shown in store
        .shown()
        .iter()
        .chain(keys.shown())
        .chain(service.shown())
    {
        let line = line(shown);
        if shown.value.is_some() && shown.name == overruled {
            super::say(format_args!("# {line}, overruled"))?;
        } else {
            super::say(line)?;
        }
    }
    Ok(())
}

/// A line of the settings' file, with the origin as a comment.
fn line(shown: &Shown) -> String {
    let origin = match shown.origin {
        Origin::Flag => "flag",
        Origin::Environment => "environment",
        Origin::File => "file",
        Origin::Default => "default",
    };
    match &shown.value {
        Some(value) => format!(
            "{} = {} # {origin}",
            shown.name,
            toml::Value::from(value.as_str())
        ),
        None => format!("# {} is not set", shown.name),
    }
}
