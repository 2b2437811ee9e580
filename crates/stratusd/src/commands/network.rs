//! `stratusd network`: sets up the log and the Tokio runtime, and makes networks.

use anyhow::Result;
use clap::ArgMatches;
use stratusd::settings::{NetworkArguments, ProcessArguments, SettingsFile, StoreArguments};

/// Make virtual machines, private subnets and firewalls of network namespaces until you stop the process
/// with SIGTERM or Ctrl-C
///
/// A process of its own beside `stratusd serve`, which reads the same database. It needs Linux, root, and
/// the programs `ip` and `nft`. What it has made stays when it stops.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Delete everything that was made with the prefix, and exit. Needs no database.
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    process: ProcessArguments,
    #[command(flatten)]
    network: NetworkArguments,
}

#[cfg(target_os = "linux")]
pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    use anyhow::Context as _;
    use stratusd::log::LogQueue;
    use stratusd::network::{Networking, remove};

    use super::log::{Flush, init_log};
    use super::output::print;
    use super::runtime::run_to_end;

    let store = arguments.store.resolve(matches, file)?;
    let process = arguments.process.resolve(matches, file)?;
    let network = arguments.network.resolve(matches, file)?;
    if arguments.remove {
        return remove(&network)?
            .iter()
            .try_for_each(|name| print(format_args!("removed {name}")));
    }
    let log = LogQueue::start(std::io::stderr()).context("failed to start the log")?;
    let _flush = Flush::of(&log);
    init_log(&process, &log, None);
    run_to_end(stratusd::network::run(Networking {
        store: &store,
        settings: &network,
        log,
    }))
}

#[cfg(not(target_os = "linux"))]
pub fn run(_: &Arguments, _: &ArgMatches, _: &SettingsFile) -> Result<()> {
    anyhow::bail!(
        "networks are made on Linux alone: elsewhere, virtual machines, private subnets and the connections between \
         these are recorded only"
    )
}
