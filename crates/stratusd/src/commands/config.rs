use anyhow::Result;
use clap::ArgMatches;
use stratusd::settings::{KeyGiven, Origin, ServiceGiven, SettingsFile, Shown, StoreGiven};

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
    for shown in store.shown().iter().chain(keys.shown()).chain(service.shown()) {
        println!("{}", line(shown));
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
        Some(value) => format!("{} = {} # {origin}", shown.name, toml::Value::from(value.as_str())),
        None => format!("# {} is not set", shown.name),
    }
}
