//! `stratusd serve`: sets up the log and the Tokio runtime, and runs the service.

use std::sync::Arc;

use anyhow::{Context, Result};
use clap::ArgMatches;
use stratusd::balance::DataPlane;
use stratusd::log::LogQueue;
use stratusd::serve::{Signals, Telemetry};
use stratusd::settings::{
    BalanceArguments, BalanceManagementArguments, GatewayArguments, KeyArguments,
    ListenerArguments, ProcessArguments, ProvisionerArguments, QuotaArguments, RemoteArguments,
    ServeSettings, ServiceArguments, SettingsFile, StoreArguments, Switch,
};
use stratusd::traces::{SpanCounts, Traces};

use super::log::{Flush, init_log};
use super::runtime::run_to_end;
use super::sealer::sealer;

/// Serve the API until you stop the process with SIGTERM or Ctrl-C
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    keys: KeyArguments,
    #[command(flatten)]
    quotas: QuotaArguments,
    #[command(flatten)]
    process: ProcessArguments,
    #[command(flatten)]
    service: ServiceArguments,
    #[command(flatten)]
    listener: ListenerArguments,
    #[command(flatten)]
    provisioner: ProvisionerArguments,
    #[command(flatten)]
    remote: RemoteArguments,
    #[command(flatten)]
    gateway: GatewayArguments,
    #[command(flatten)]
    balance_management: BalanceManagementArguments,
    #[command(flatten)]
    balance: BalanceArguments,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let store = arguments.store.resolve(matches, file)?;
    let keys = arguments.keys.resolve(matches, file)?;
    let quotas = arguments.quotas.resolve(matches, file)?;
    let process = arguments.process.resolve(matches, file)?;
    let service = arguments.service.resolve(matches, file)?;
    let listener = arguments.listener.resolve(matches, file)?;
    let provisioner = arguments.provisioner.resolve(matches, file)?;
    let remote = arguments.remote.resolve(matches, file)?;
    let gateway = arguments.gateway.resolve(matches, file)?;
    let balance_management = arguments.balance_management.resolve(matches, file)?;
    let balance = arguments.balance.resolve(matches, file)?;
    // Each has one of its own, as in two processes.
    let data_plane_sealer = match service.balance {
        Switch::On => Some(sealer(&keys)?),
        Switch::Off => None,
    };
    let sealer = sealer(&keys)?;
    let log = LogQueue::start(std::io::stderr()).context("failed to start the log")?;
    let _flush = Flush::of(&log);
    let spans = Arc::<SpanCounts>::default();
    let traces = Traces::start(&service, &spans)?;
    init_log(&process, &log, traces.as_ref());
    let balancing = async |signals: Option<Signals>| {
        let Some(signals) = signals else {
            return Ok(());
        };
        stratusd::balance::run(DataPlane {
            store: &store,
            process: &process,
            settings: &balance,
            management: balance_management.balance_management_listen.get(),
            sealer: data_plane_sealer,
            log: Arc::clone(&log),
            backends: service.backends_of_data_plane(),
            signals,
        })
        .await
    };
    let serving = stratusd::serve::run(
        ServeSettings {
            store: &store,
            process: &process,
            service: &service,
            listener: &listener,
            provisioner: &provisioner,
            remote: &remote,
            gateway: &gateway,
        },
        quotas.quotas(),
        sealer,
        Telemetry {
            log: Arc::clone(&log),
            spans,
        },
    );
    run_to_end(async {
        // Before the service starts: the data plane starts after it, and must not miss a signal.
        let signals = match service.balance {
            Switch::On => Some(Signals::listen()?),
            Switch::Off => None,
        };
        // Each ends by itself after a signal; if one fails, so does the process.
        tokio::try_join!(serving, balancing(signals))?;
        Ok(())
    })
}
