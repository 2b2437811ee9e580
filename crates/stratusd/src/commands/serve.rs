//! `stratusd serve`: logs, a run time, and the service in it.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use clap::ArgMatches;
use stratusd::settings::{
    KeyGiven, LogFormat, ServiceGiven, ServiceSettings, SettingsFile, StoreGiven,
};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Serve the API until told to stop
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
    let sealer = super::sealer(&keys)?;
    log(&service);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start")?;
    runtime.block_on(stratusd::serve::run(&store, &service, sealer))
}

/// Logs go to standard error; standard output says where the service is.
fn log(settings: &ServiceSettings) {
    let registry = tracing_subscriber::registry().with(settings.log.filter());
    let is_terminal = std::io::stderr().is_terminal();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(is_terminal);
    match settings.log_format {
        LogFormat::Human => registry.with(layer).init(),
        LogFormat::Json => registry.with(layer.json()).init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        // The message may repeat what a request held; the place cannot.
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(place, "a panic: this is a fault of stratusd");
    }));
}
