//! `stratusd check-provisioner`: checks whether a provisioner keeps the rules of its protocol.

use std::future::pending;

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use stratusd::provision::check::{self, CheckConfig};
use stratusd::settings::{Duration, ProvisionerUrl, RemoteArguments, SettingsFile};
use tokio::signal::unix::{SignalKind, signal};

use super::output::print;

/// Check whether a provisioner keeps the rules of its protocol
///
/// Makes databases, changes them in every way, connects to them, and deletes them. Prints each rule with
/// what was expected, and fails if one is not kept. What `stratusd serve` calls is checked with the same
/// settings.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The URL of the provisioner, in place of --provisioner-url.
    #[arg(value_name = "URL")]
    url: Option<ProvisionerUrl>,
    /// How long a step may take until it is done.
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    patience: Duration<100>,
    /// The version of PostgreSQL of the databases [default: the last that the provisioner has]
    #[arg(long = "postgres-version", value_name = "VERSION")]
    postgres_version: Option<String>,
    /// The size of the databases, and the size that one is changed to [default: the first two that the
    /// provisioner names, or else standard-2 and standard-4]
    #[arg(long, value_name = "SIZE", num_args = 2)]
    sizes: Option<Vec<String>>,
    /// The storage of the databases in GiB, and the storage that one is changed to [default: the smallest
    /// that the sizes can have]
    #[arg(long, value_name = "GIB", num_args = 2)]
    storage: Option<Vec<i64>>,
    /// Give no database a standby.
    #[arg(long)]
    no_standbys: bool,
    /// Do not connect to the databases, such as from a machine that cannot reach them.
    #[arg(long)]
    no_connections: bool,
    #[command(flatten)]
    remote: RemoteArguments,
}

/// Waits for Ctrl-C or SIGTERM. Another one ends the program at once.
async fn interrupted() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(1);
    });
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let mut remote = arguments.remote.resolve(matches, file)?;
    if let Some(url) = &arguments.url {
        remote.provisioner_url = Some(url.clone());
    }
    let two = "clap takes two values";
    let config = CheckConfig {
        patience: arguments.patience.get(),
        version: arguments.postgres_version.clone(),
        sizes: arguments
            .sizes
            .clone()
            .map(|sizes| sizes.try_into().expect(two)),
        storage: arguments
            .storage
            .clone()
            .map(|gib| gib.try_into().expect(two)),
        standbys: !arguments.no_standbys,
        connects: !arguments.no_connections,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let is_kept = runtime.block_on(check::run(&remote, config, interrupted(), |judged| {
        print(judged)
    }))?;
    if !is_kept {
        bail!("the provisioner does not keep all rules of its protocol");
    }
    print("the provisioner keeps all rules that were checked")
}
