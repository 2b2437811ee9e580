//! The data plane of load balancers, in a process of its own or in that of `stratusd serve` with
//! `balance = "on"`. It reads the database of the service, listens on the addresses of load balancers,
//! and forwards connections to their virtual machines.
//!
//! It forwards bytes of TCP and does not read what they mean. It goes on while the API is down, and
//! with what it has read last while the database is.
//!
//! `crate::watch` reads the database on a thread of its own, by the rounds of `watch`, and an `engine`
//! puts in force what was read. In the engine of this module, `director` makes the running load
//! balancers match what was read: each is a `Balancer` with its listeners, its certificate and a
//! `Target` for each virtual machine, which `health` checks. `listener` accepts a connection,
//! `connection` serves it, `choose` chooses the virtual machine, and `relay` copies the bytes.
//! `limits` has what may be open at a time, and the share of each project.
//!
//! In the other engine, `envoy`, an Envoy beside this process forwards the connections.
//!
//! The engine of this module is written on tokio. docs/benchmarks.md compares it with HAProxy, and says why that
//! and Pingora are not used.

mod addresses;
mod background;
mod balancer;
mod balancers;
mod certificate;
mod check;
mod choose;
mod connection;
mod declared;
mod director;
mod due;
mod engine;
mod envoy;
mod health;
mod limits;
mod listener;
mod management;
mod metrics;
mod proxy_header;
mod relay;
mod servers;
mod shared;
mod state_file;
mod status;
mod target;
mod watch;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::log::LogQueue;
use crate::seal::Sealer;
use crate::serve::Signals;
use crate::serve::accept::AcceptFailures;
use crate::serve::listen::{bind, listen};
use crate::serve::management::Management;
use crate::settings::{BalanceEngine, BalanceSettings, HttpPorts, ProcessSettings, StoreSettings};
use crate::storage::DatabaseLocation;
use crate::watch::{Reading, Watch};
use crate::world::World;

pub use crate::watch::BACKENDS;
use addresses::Addresses;
use director::Director;
use engine::Engine;
use envoy::Envoy;
use limits::Limits;
use management::Health;
use servers::Servers;
use shared::{Shared, Timing};
pub use status::{BalancerStatus, ListenerStatus, VmStatus};
use watch::Reads;

/// What the data plane runs with.
#[derive(Debug)]
pub struct DataPlane<'s> {
    /// The database to read.
    pub store: &'s StoreSettings,
    /// The settings that it has in common with the service.
    pub process: &'s ProcessSettings,
    /// The settings of its own.
    pub settings: &'s BalanceSettings,
    /// The address of the management port.
    pub management: SocketAddr,
    /// What opens the authority's private key. Without it, load balancers with a certificate do not
    /// listen.
    pub sealer: Option<Sealer>,
    /// The queue of log lines.
    pub log: Arc<LogQueue>,
    /// The backends that it may have on PostgreSQL.
    pub backends: u32,
    /// The signals that end it. SIGHUP has nothing to reload, and must not end the process.
    pub signals: Signals,
}

/// Runs the data plane until the process receives SIGTERM or SIGINT, then lets open connections end
/// for a time.
///
/// # Errors
///
/// If the data plane cannot start, with what to do about it. A database that cannot be read is no
/// reason: the data plane tries again.
pub async fn run(data_plane: DataPlane<'_>) -> Result<()> {
    let DataPlane {
        store,
        process,
        settings,
        management,
        sealer,
        log,
        backends,
        signals: Signals {
            stop,
            hang_up: _hang_up,
        },
    } = data_plane;
    settings.ensure_complete()?;
    let database = store.database_url.database()?;
    let addresses = Addresses::load(settings)?;
    let listener = management_listener(management)?;
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let world = World::real();
    let accept_failures = Arc::<AcceptFailures>::default();
    let ports = settings.balance_http_ports.as_ref();
    let ports = ports.map_or(&[][..], HttpPorts::get);
    let servers = Servers::new(ports, Arc::clone(&accept_failures));
    let parts = (addresses, servers);
    let frame = Frame {
        rounds: Reads::new(
            process.service_domain.as_str().to_owned(),
            sealer,
            world.clone(),
        ),
        database,
        world: world.clone(),
        backends,
        stop,
        listener,
        accept_failures: Arc::clone(&accept_failures),
        log,
    };
    match settings.balance_engine {
        BalanceEngine::Own => {
            let limits = Limits::within_open_files(settings);
            let shared = Shared::new(Timing::of(settings), limits, accept_failures);
            frame
                .run(Director::new(Arc::new(shared), parts, world))
                .await
        }
        BalanceEngine::Envoy => frame.run(Envoy::start(settings, parts, world)?).await,
    }
}

/// What all engines need around them: the reader of the database, and the management port.
struct Frame {
    rounds: Reads,
    database: DatabaseLocation,
    world: World,
    backends: u32,
    stop: CancellationToken,
    listener: std::net::TcpListener,
    accept_failures: Arc<AcceptFailures>,
    log: Arc<LogQueue>,
}

impl Frame {
    async fn run(self, engine: impl Engine) -> Result<()> {
        let health = Health {
            reading: Arc::<Reading>::default(),
            accept_failures: Arc::clone(&self.accept_failures),
        };
        let reading = Arc::clone(&health.reading);
        let router = management::router(health, engine.view(), self.log);
        let management = Management::start(self.listener, router, self.accept_failures)?;
        let (sender, updates) = mpsc::channel(1);
        let watch = Watch {
            database: self.database,
            world: self.world,
            reading,
            stop: self.stop.clone(),
            backends: self.backends,
            rounds: self.rounds,
        };
        let watching = watch.start(sender)?;
        announce(management.address());
        engine::run(engine, updates, &self.stop).await;
        // The thread has seen the signal too; it may be in a statement, which ends by itself.
        drop(watching);
        if !self.stop.is_cancelled() {
            // Another process reads it again; this one would forward by what it has read for ever.
            bail!("the database is not read any more, which is a bug: start the data plane again");
        }
        Ok(())
    }
}

fn management_listener(address: SocketAddr) -> Result<std::net::TcpListener> {
    let socket = bind(address).with_context(|| {
        format!("failed to listen on {address}, which is set by `balance_management_listen`")
    })?;
    listen(socket)
}

/// Prints the address of the management port to standard output, and logs it.
fn announce(management: SocketAddr) {
    crate::announce::announce(format!(
        "balancing, health and metrics on http://{management}\n"
    ));
    tracing::info!(%management, "balancing");
}
