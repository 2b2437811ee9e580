//! Runs a provisioner as a process of its own, which services on other machines call over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use api_types::{PostgresFlavor, PostgresVersion};
use axum::Router;
use axum::routing::get;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::accept::raise_open_files;
use super::connections::{ConnectionCounts, Connections};
use super::listen::{bind, listen};
use super::management::{Health, Management, readiness};
use super::provisioning::{Choice, Chosen};
use super::serving::Serving;
use super::signals::Signals;
use super::tls;
use crate::domain::catalogue;
use crate::provision::authority::Authority;
use crate::provision::local::Local;
use crate::provision::served::{self, About};
use crate::settings::{
    ListenerSettings, ProcessSettings, ProvisionSettings, ProvisionerChoice, ProvisionerSettings,
    RemoteSettings,
};
use crate::world::World;

/// The folder of the databases, unless the settings name one.
const FOLDER: &str = "provisioner-postgres";

/// The settings that a provisioner runs with.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'s> {
    /// The settings of each process.
    pub process: &'s ProcessSettings,
    /// The settings of its listener.
    pub listener: &'s ListenerSettings,
    /// What creates the databases.
    pub provisioner: &'s ProvisionerSettings,
    /// The settings of a provisioner in another process, of which there must be none.
    pub remote: &'s RemoteSettings,
    /// The settings of its own.
    pub provision: &'s ProvisionSettings,
}

/// Serves the provisioner of this machine until the process receives SIGTERM or SIGINT, then finishes
/// the calls in progress. Databases go on.
///
/// # Errors
///
/// If the provisioner cannot start, with what to do about it, or if the listener fails.
pub async fn run(settings: Settings<'_>) -> Result<()> {
    let Settings {
        process,
        listener,
        provisioner,
        remote,
        provision,
    } = settings;
    listener.ensure_complete()?;
    provision.ensure_complete()?;
    if provisioner.provisioner == ProvisionerChoice::Http {
        bail!(
            "provisioner = \"http\" is for `stratusd serve`: this command is the other process; set provisioner to local or simulated"
        );
    }
    let Signals { stop, hang_up } = Signals::listen()?;
    let choice = Choice::look(provisioner, remote, Some(PathBuf::from(FOLDER)))?;
    let socket = bound(provision.provision_listen.get(), "provision_listen")?;
    let management = bound(
        provision.provision_management_listen.get(),
        "provision_management_listen",
    )?;
    let tls = tls::load(listener, hang_up).await?;
    let address = socket.local_addr()?;
    if tls.is_none() && !address.ip().is_loopback() {
        tracing::warn!(
            "passwords of databases are received without TLS: set tls_certificate and tls_key, or let a proxy with TLS call this machine only"
        );
    }
    let world = World::real();
    let file = provision.provision_authority_file.as_path();
    let authority = Authority::load_or_create_file(file, &world)?;
    let chosen = choice.decide_alone((process, provisioner), &world, authority)?;
    if let Chosen::Local(_) = &chosen
        && provisioner.local_addresses.has_loopback()
        && !address.ip().is_loopback()
    {
        tracing::warn!(
            addresses = %provisioner.local_addresses,
            "only this machine reaches its databases: set local_addresses to a network that is routed to it"
        );
    }
    let (router, supervisor) = served(chosen, provision, listener, &stop)?;
    let health = Health::default();
    let management = Management::start(
        listen(management)?,
        management_router(health.clone()),
        health.accept_failures(),
    )?;
    let connections = raise_open_files(listener.max_connections.get(), 0);
    let limited = Connections::new(connections, ConnectionCounts::default());
    let serving = Serving::start(listener, socket, router, tls.as_ref(), limited, &health)?;
    health.start_alone();
    announce(&serving.url(), management.address());
    let ended = serving
        .until(&stop, &health, listener.shutdown_timeout.get())
        .await;
    stop.cancel();
    if let Some(supervisor) = supervisor {
        // It ends by the same signal. A panic was logged.
        let _ = supervisor.await;
    }
    ended
}

fn bound(address: SocketAddr, setting: &str) -> Result<tokio::net::TcpSocket> {
    bind(address)
        .with_context(|| format!("failed to listen on {address}, which is set by `{setting}`"))
}

/// Returns the router of the protocol, and the supervisor of the servers if there are any.
fn served(
    chosen: Chosen,
    provision: &ProvisionSettings,
    listener: &ListenerSettings,
    stop: &CancellationToken,
) -> Result<(Router, Option<JoinHandle<()>>)> {
    let name = |kind: &str| format!("stratusd {}, {kind}", env!("CARGO_PKG_VERSION"));
    match chosen {
        Chosen::Local(local) => {
            let about = About {
                name: name("local"),
                is_simulated: false,
                versions: local.versions().map(str::to_owned).collect(),
                upgrades: Some(upgrades(&local)),
                flavors: vec![Local::FLAVOR.to_string()],
                sizes: Some(catalogue::sizes().map(|size| size.to_string()).collect()),
                can_shrink: Some(true),
                sends_events: true,
            };
            let router = served::serve(local.clone(), &about, provision, listener, stop)?;
            let supervisor = tokio::spawn(local.supervise(stop.clone()));
            Ok((router, Some(supervisor)))
        }
        Chosen::Simulated(simulator) => {
            let versions = PostgresVersion::VALUES.iter().map(ToString::to_string);
            let flavors = PostgresFlavor::VALUES.iter().map(ToString::to_string);
            let about = About {
                name: name("simulated"),
                is_simulated: true,
                versions: versions.collect(),
                upgrades: None,
                flavors: flavors.collect(),
                // The simulator accepts every size and upgrade.
                sizes: None,
                can_shrink: None,
                sends_events: false,
            };
            let router = served::serve(*simulator, &about, provision, listener, stop)?;
            Ok((router, None))
        }
        Chosen::Remote(_) => bail!("a provisioner in another process is not served again"),
    }
}

/// Returns the versions that databases can be upgraded to from each version.
fn upgrades(local: &Local) -> Vec<(String, Vec<String>)> {
    let upgrades = local.offered_upgrades();
    let upgrades = upgrades.map(|(from, to)| {
        let to = to.into_iter().map(str::to_owned);
        (from.to_owned(), to.collect())
    });
    upgrades.collect()
}

fn management_router(health: Health) -> Router {
    let ready = move || {
        let health = health.clone();
        async move { readiness(health.check().await) }
    };
    Router::new()
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
}

/// Prints the addresses to standard output, and logs them.
fn announce(url: &str, management: SocketAddr) {
    crate::announce::announce(format!(
        "provisioning on {url}, health on http://{management}\n"
    ));
    tracing::info!(%url, %management, "provisioning");
}
