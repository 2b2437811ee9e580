//! The process around the API: listeners, limits, health, metrics, and how it stops.

mod connections;
mod management;
mod metrics;
mod requests;
mod times;
mod tls;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use api_server::server;
use axum::Router;
use axum_server::Handle;
use hyper_util::rt::TokioTimer;
use tokio::net::TcpSocket;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::api::{self, RateLimit};
use crate::operations;
use crate::provision::authority::Authority;
use crate::provision::simulator::{Simulator, SimulatorConfig};
use crate::reconcile::{Reconciler, ReconcilerConfig, Steps};
use crate::seal::Sealer;
use crate::settings::{ServiceSettings, StoreSettings};
use crate::storage::{DatabaseLocation, Store, StoreConfig, claim};
use crate::world::World;

use connections::Limited;
use management::Health;
use metrics::Metrics;
use requests::Requests;
use times::Timed;
use tls::Tls;

/// How long a statement may take before whoever needs it is refused.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a step of the reconciler may take.
const STEP_LIMIT: Duration = Duration::from_mins(10);
/// How often the reconciler asks the store whether anything is due.
const POLL: Duration = Duration::from_millis(250);
/// How much larger than the limit a head may be and still be refused in the contract's words, in bytes. It costs memory
/// of those who have not shown a token yet.
const BEYOND: usize = 64 << 10;
/// Connections that wait to be taken, at most.
const BACKLOG: u32 = 1024;

/// Serves until the process is told to stop (SIGTERM or SIGINT), then finishes what it took.
///
/// # Errors
///
/// If it cannot start, with what to do about it.
pub async fn run(
    store_settings: &StoreSettings,
    settings: &ServiceSettings,
    sealer: Sealer,
) -> Result<()> {
    settings.ensure_whole()?;
    let Signals { stop, hang_up } = Signals::listen()?;
    let database = store_settings.database_url.database()?;
    // Held until the end: the lock goes with it.
    let _claim = match &database {
        DatabaseLocation::Sqlite(file) => Some(claim(file)?),
        DatabaseLocation::Postgres(_) => None,
    };
    let world = World::real();
    let is_alone = matches!(database, DatabaseLocation::Sqlite(_));
    let listeners = Listeners::bind(settings)?;
    // Neither shall a certificate that cannot be used.
    let tls = tls::of(settings, hang_up).await?;
    let connections = settings.database_connections.get();
    let config = StoreConfig {
        database,
        connections,
        patience: PATIENCE,
        world: world.clone(),
    };
    let steps = Arc::new(Steps::default());
    let (metrics, health) = (
        Arc::new(Metrics::new(Arc::clone(&steps))),
        Health::default(),
    );
    let management = Management::start(listeners.management, &metrics, &health)?;
    let opening = async {
        let store = Store::open(&config)
            .await
            .context("failed to open the database")?;
        let authority = Authority::of(&store, &sealer, &world).await?;
        anyhow::Ok((store, authority))
    };
    // It may wait for another replica's migrations, and whoever tells it to stop shall not wait with it.
    let (store, authority) = tokio::select! {
        opened = opening => opened?,
        () = stop.cancelled() => {
            tracing::info!("told to stop before it has served");
            return Ok(());
        }
    };
    let context = operations::Context {
        world: world.clone(),
        sealer: Arc::new(sealer),
        service_domain: settings.service_domain.as_str().to_owned(),
    };
    let simulator = Simulator::new(simulator_config(settings), world, authority);
    let config = ReconcilerConfig {
        lease: settings.reconcile_lease.get(),
        observe_every: settings.observe_every.get(),
        poll: POLL,
        step_limit: STEP_LIMIT,
        grace: settings.shutdown_timeout.get(),
        is_alone,
    };
    let reconciler = Reconciler::new(store.clone(), context.clone(), simulator, config, steps);
    // Told to stop together with the listeners, so that both have the same time to end.
    let reconciling = tokio::spawn(reconciler.run(stop.clone()));
    let router = router(settings, &store, &context, &metrics);
    let served = match Serving::start(settings, listeners.api, router, tls, &metrics) {
        Ok(serving) => {
            serving.announce(management.address);
            health.serves(store.clone());
            serving
                .until(&stop, &health, settings.shutdown_timeout.get())
                .await
        }
        Err(error) => Err(error),
    };
    // It may have failed by itself.
    stop.cancel();
    // It logs what went wrong, and a panic is logged by the hook.
    let _ = reconciling.await;
    store.close().await;
    served
}

/// The API as a router, with everything that the settings say of requests.
fn router(
    settings: &ServiceSettings,
    store: &Store,
    context: &operations::Context,
    metrics: &Arc<Metrics>,
) -> Router {
    let limit = settings.rate_limit.map(|per_second| RateLimit {
        per_second,
        burst: settings.rate_burst.unwrap_or(per_second),
    });
    let config = server::Config::new()
        .body_limit(settings.body_limit.get())
        .body_timeout(settings.body_timeout.get());
    let requests = Requests::new(
        settings.header_limit.get(),
        Arc::clone(metrics),
        &context.world,
    );
    requests.around(api::router(store, context, limit, config))
}

fn simulator_config(settings: &ServiceSettings) -> SimulatorConfig {
    SimulatorConfig {
        delay: settings.simulate_delay.get(),
        jitter: settings.simulate_jitter.get(),
        failures: settings.simulate_failures.get(),
        outages: settings.simulate_outages.get(),
        used: settings.simulate_used.get(),
        seed: settings.simulate_seed,
        service_domain: settings.service_domain.as_str().to_owned(),
    }
}

/// The sockets, bound before anything else: a port that is taken shall not cost a migration.
struct Listeners {
    /// It takes connections once they are served.
    api: TcpSocket,
    management: TcpListener,
}

impl Listeners {
    fn bind(settings: &ServiceSettings) -> Result<Self> {
        let bind = |address: SocketAddr, setting: &str| {
            bound(address).with_context(|| {
                format!("failed to listen on {address}, see the setting {setting}")
            })
        };
        let api = bind(settings.listen, "listen")?;
        let management = listening(bind(settings.management_listen, "management_listen")?)?;
        Ok(Self { api, management })
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // As std does it: a port whose last connections still linger is free.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn listening(socket: TcpSocket) -> Result<TcpListener> {
    let address = socket.local_addr()?;
    let listener = socket
        .listen(BACKLOG)
        .and_then(tokio::net::TcpListener::into_std);
    listener.with_context(|| format!("failed to listen on {address}"))
}

/// The second port. It is served from before the database is open until after the last request, so that whoever
/// probes it knows that the process lives.
struct Management {
    address: SocketAddr,
    handle: Handle<SocketAddr>,
}

impl Management {
    fn start(listener: TcpListener, metrics: &Arc<Metrics>, health: &Health) -> Result<Self> {
        let (address, handle) = (listener.local_addr()?, Handle::new());
        let router = management::router(Arc::clone(metrics), health.clone());
        let server = axum_server::from_tcp(listener)?
            .handle(handle.clone())
            .acceptor(management::acceptor());
        tokio::spawn(server.serve(router.into_make_service()));
        Ok(Self { address, handle })
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

/// The API on its port.
struct Serving {
    address: SocketAddr,
    scheme: &'static str,
    handle: Handle<SocketAddr>,
    server: JoinHandle<io::Result<()>>,
}

impl Serving {
    fn start(
        settings: &ServiceSettings,
        socket: TcpSocket,
        router: Router,
        tls: Option<Tls>,
        metrics: &Metrics,
    ) -> Result<Self> {
        let listener = listening(socket)?;
        let (address, handle) = (listener.local_addr()?, Handle::new());
        let limited = Limited::new(settings.max_connections.get(), metrics.connections());
        let (head, idle) = (settings.header_timeout.get(), settings.idle_timeout.get());
        let server = with_limits(
            axum_server::from_tcp(listener)?.handle(handle.clone()),
            settings,
        );
        let service = router.into_make_service();
        let (scheme, server) = match tls {
            Some(tls) => {
                let acceptor = Timed::new(tls.acceptor(head).acceptor(limited), head, idle);
                (
                    "https",
                    tokio::spawn(server.acceptor(acceptor).serve(service)),
                )
            }
            None => (
                "http",
                tokio::spawn(
                    server
                        .acceptor(Timed::new(limited, head, idle))
                        .serve(service),
                ),
            ),
        };
        Ok(Self {
            address,
            scheme,
            handle,
            server,
        })
    }

    fn announce(&self, management: SocketAddr) {
        let Self {
            address, scheme, ..
        } = self;
        // The only line on standard output; nobody need read it.
        let _ = writeln!(
            io::stdout(),
            "serving {scheme}://{address}, health and metrics on http://{management}"
        );
        tracing::info!(api = %address, %management, "serving");
    }

    /// Serves until it is told to stop, and then as long as requests on their way may take.
    async fn until(
        mut self,
        stop: &CancellationToken,
        health: &Health,
        grace: Duration,
    ) -> Result<()> {
        let ended = tokio::select! {
            () = stop.cancelled() => None,
            ended = &mut self.server => Some(ended),
        };
        let ended = if let Some(ended) = ended {
            health.stops();
            ended.map(|ended| {
                ended.and_then(|()| Err(io::Error::other("it ended without being told to")))
            })
        } else {
            tracing::info!("stopping: no more connections, requests on their way are finished");
            health.stops();
            self.handle.graceful_shutdown(Some(grace));
            self.server.await
        };
        match ended {
            Ok(served) => served.context("the listener failed"),
            Err(_) => bail!("the server panicked"),
        }
    }
}

/// What HTTP itself allows.
fn with_limits(
    mut server: axum_server::Server<SocketAddr>,
    settings: &ServiceSettings,
) -> axum_server::Server<SocketAddr> {
    let bytes = settings.header_limit.get() + BEYOND;
    let builder = server.http_builder();
    builder
        .http1()
        // It would run between requests too: `Timed` knows better.
        .header_read_timeout(None)
        .max_buf_size(bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(settings.idle_timeout.get() / 2)
        .max_concurrent_streams(100);
    server
}

/// What the process is told. From the moment that it listens, none of these signals ends it by itself.
struct Signals {
    /// Cancelled once it shall stop (SIGTERM or SIGINT).
    stop: CancellationToken,
    /// Whether it shall read its certificate again (SIGHUP).
    hang_up: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let hang_up = signal(SignalKind::hangup()).context("failed to listen for SIGHUP")?;
        Ok(Self {
            stop: stop_signal()?,
            hang_up,
        })
    }
}

/// Cancelled once the process is told to stop.
fn stop_signal() -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    let told = stop.clone();
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?;
    let was_told = AtomicBool::new(false);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if was_told.swap(true, Ordering::Relaxed) {
                // Whoever asks twice does not want to wait.
                std::process::exit(130);
            }
            told.cancel();
        }
    });
    Ok(stop)
}
