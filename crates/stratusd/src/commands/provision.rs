//! `stratusd provision`: sets up the log and the Tokio runtime, and serves a provisioner.

use anyhow::{Context, Result};
use clap::ArgMatches;
use stratusd::log::LogQueue;
use stratusd::serve::provisioner::{self, Settings};
use stratusd::settings::{
    ListenerArguments, ProcessArguments, ProvisionArguments, ProvisionerArguments, RemoteArguments,
    SettingsFile,
};

use super::log::{Flush, init_log};
use super::runtime::run_to_end;

/// Create databases for services on other machines until you stop the process with SIGTERM or Ctrl-C
///
/// Serves the databases of this machine, or with --provisioner simulated those of the simulator, by the
/// protocol of provisioners. A service calls it with --provisioner http. It needs no database of its own.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    process: ProcessArguments,
    #[command(flatten)]
    listener: ListenerArguments,
    #[command(flatten)]
    provisioner: ProvisionerArguments,
    #[command(flatten)]
    provision: ProvisionArguments,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let process = arguments.process.resolve(matches, file)?;
    let listener = arguments.listener.resolve(matches, file)?;
    let provisioner = arguments.provisioner.resolve(matches, file)?;
    let remote = RemoteArguments::default().resolve(matches, file)?;
    let provision = arguments.provision.resolve(matches, file)?;
    let log = LogQueue::start(std::io::stderr()).context("failed to start the log")?;
    let _flush = Flush::of(&log);
    init_log(&process, &log, None);
    run_to_end(provisioner::run(Settings {
        process: &process,
        listener: &listener,
        provisioner: &provisioner,
        remote: &remote,
        provision: &provision,
    }))
}
