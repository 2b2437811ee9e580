//! `stratusd config`: prints the settings in effect and where each comes from.

use anyhow::Result;
use clap::ArgMatches;
use stratusd::settings::{
    BalanceArguments, BalanceManagementArguments, GatewayArguments, KeyArguments, KeySource,
    ListenerArguments, NetworkArguments, Origin, ProcessArguments, ProvisionArguments,
    ProvisionerArguments, QuotaArguments, RemoteArguments, ServiceArguments, Setting, SettingsFile,
    StoreArguments,
};

use super::output::print;

/// Print the settings in effect and where each comes from, without secrets
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
    provision: ProvisionArguments,
    #[command(flatten)]
    gateway: GatewayArguments,
    #[command(flatten)]
    management: BalanceManagementArguments,
    #[command(flatten)]
    balance: BalanceArguments,
    #[command(flatten)]
    network: NetworkArguments,
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
    let provision = arguments.provision.resolve(matches, file)?;
    let gateway = arguments.gateway.resolve(matches, file)?;
    service.ensure_complete()?;
    listener.ensure_complete()?;
    remote.ensure_complete(provisioner.provisioner)?;
    gateway.ensure_complete()?;
    let management = arguments.management.resolve(matches, file)?;
    let balance = arguments.balance.resolve(matches, file)?;
    balance.ensure_complete()?;
    let network = arguments.network.resolve(matches, file)?;
    let overridden = match keys.source()? {
        Some(KeySource::Text(_)) => "encryption_keys_file",
        Some(KeySource::File(_)) => "encryption_keys",
        None => "",
    };
    let groups = [
        store.all(),
        keys.all(),
        quotas.all(),
        process.all(),
        service.all(),
        listener.all(),
        provisioner.all(),
        remote.all(),
        provision.all(),
        gateway.all(),
        management.all(),
        balance.all(),
        network.all(),
    ];
    let settings = groups.into_iter().flatten();
    for setting in settings {
        let line = line(setting);
        if setting.value.is_some() && setting.name == overridden {
            print(format_args!("# {line}, overridden"))?;
        } else {
            print(line)?;
        }
    }
    Ok(())
}

/// Returns a setting as a line of the settings file, with its origin as a comment:
/// `listen = "127.0.0.1:8080" # default`. The line of a setting without a value is only a comment.
fn line(setting: &Setting) -> String {
    let origin = match setting.origin {
        Origin::Flag => "flag",
        Origin::Environment => "environment",
        Origin::File => "file",
        Origin::Default => "default",
    };
    match &setting.value {
        Some(value) => format!(
            "{} = {} # {origin}",
            setting.name,
            toml::Value::from(value.as_str())
        ),
        None => format!("# {} is not set", setting.name),
    }
}
