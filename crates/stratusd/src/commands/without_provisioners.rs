//! `stratusd provision` and `stratusd check-provisioner` of a build without the feature `provisioners`,
//! which say how to have them.

use std::ffi::OsString;

use anyhow::{Result, bail};
use clap::ArgMatches;
use stratusd::settings::SettingsFile;

/// Not in this build, which lacks the feature `provisioners`
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What the command takes with the feature.
    #[arg(
        value_name = "ARGUMENTS",
        hide = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    rest: Vec<OsString>,
}

pub fn run(arguments: &Arguments, _: &ArgMatches, _: &SettingsFile) -> Result<()> {
    let _ = &arguments.rest;
    bail!(
        "this program was built without the feature `provisioners`, which this command needs: build it with that \
         feature, such as by `cargo build --release --package stratusd`"
    )
}
