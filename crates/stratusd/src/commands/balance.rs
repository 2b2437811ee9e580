//! `stratusd balance`: sets up the log and the Tokio runtime, and runs the data plane of load
//! balancers.

use anyhow::{Context, Result};
use clap::ArgMatches;
use stratusd::balance::{BACKENDS, DataPlane};
use stratusd::log::LogQueue;
use stratusd::serve::Signals;
use stratusd::settings::{
    BalanceArguments, BalanceManagementArguments, KeyArguments, ProcessArguments, SettingsFile,
    StoreArguments,
};

use super::log::{Flush, init_log};
use super::runtime::run_to_end;
use super::sealer::sealer;

/// Forward the connections of load balancers until you stop the process with SIGTERM or Ctrl-C
///
/// A process of its own beside `stratusd serve`, which reads the same database and goes on while the
/// API is down. Without encryption keys, load balancers with a certificate do not listen.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    keys: KeyArguments,
    #[command(flatten)]
    process: ProcessArguments,
    #[command(flatten)]
    management: BalanceManagementArguments,
    #[command(flatten)]
    balance: BalanceArguments,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let store = arguments.store.resolve(matches, file)?;
    let keys = arguments.keys.resolve(matches, file)?;
    let process = arguments.process.resolve(matches, file)?;
    let management = arguments.management.resolve(matches, file)?;
    let balance = arguments.balance.resolve(matches, file)?;
    let sealer = match keys.source()? {
        Some(_) => Some(sealer(&keys)?),
        None => None,
    };
    let log = LogQueue::start(std::io::stderr()).context("failed to start the log")?;
    let _flush = Flush::of(&log);
    init_log(&process, &log, None);
    if sealer.is_none() {
        tracing::warn!(
            "no encryption keys are set: load balancers with a certificate do not listen; pass \
             --encryption-keys-file FILE, as to `stratusd serve`"
        );
    }
    run_to_end(async {
        stratusd::balance::run(DataPlane {
            store: &store,
            process: &process,
            settings: &balance,
            management: management.balance_management_listen.get(),
            sealer,
            log,
            backends: BACKENDS,
            signals: Signals::listen()?,
        })
        .await
    })
}
