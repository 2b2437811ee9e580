//! Runs the process: listeners, limits, health, metrics, the reconciler, and a graceful shutdown.

pub(crate) mod accept;
mod budget;
pub(crate) mod connections;
pub(crate) mod listen;
mod long_work;
pub(crate) mod management;
mod metrics;
#[cfg(feature = "provisioners")]
pub mod provisioner;
mod provisioning;
mod requests;
mod serving;
pub(crate) mod signals;
mod times;
mod tls;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result};
use api_server::server;
use axum::Router;
use tokio::time::timeout;

use crate::api;
use crate::domain::quota::Quotas;
use crate::gateway::{Gateway, GatewayConfig};
use crate::log::LogQueue;
use crate::operations;
use crate::provision::authority::Authority;
use crate::rate::RateLimit;
use crate::reconcile::{ReconcilerConfig, Steps};
use crate::seal::Sealer;
use crate::settings::{ListenerSettings, ServeSettings, ServiceSettings, Switch};
use crate::storage::{DatabaseLocation, SILENCE, Store, StoreConfig, WAIT, claim};
use crate::sweep::{self, Trail};
use crate::traces::{self, SpanCounts};
use crate::world::World;

use accept::raise_open_files;
use budget::Budget;
use connections::Connections;
use listen::Listeners;
use long_work::{LongThreads, LongWork};
use management::{Health, Management};
use metrics::Metrics;
pub(crate) use provisioning::Kind;
#[cfg(not(feature = "provisioners"))]
pub(crate) use provisioning::WITHOUT;
use provisioning::{Choice, Reconciling, folder_beside};
pub use provisioning::{Foreseen, foresee};
use requests::Requests;
pub(crate) use requests::known_method;
use serving::Serving;
pub use signals::Signals;

/// How long a statement may take before the request that needs it is rejected.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a change may wait for a lock while it holds its connection: longer than changes of the
/// API hold theirs.
const LOCK_WAIT: Duration = Duration::from_millis(250);
/// How long a step of the reconciler may take.
const STEP_LIMIT: Duration = Duration::from_mins(10);
/// How often the reconciler looks for databases that are due.
const POLL: Duration = Duration::from_millis(250);

/// What the metrics tell about the log and the traces.
#[derive(Debug)]
pub struct Telemetry {
    /// The queue of log lines.
    pub log: Arc<LogQueue>,
    /// The counts of spans.
    pub spans: Arc<SpanCounts>,
}

/// Serves the API until the process receives SIGTERM or SIGINT, then finishes the requests in
/// progress.
///
/// What can fail for a reason that the operator must fix (settings, ports, the certificate) comes
/// before the database is opened, because opening it migrates it.
///
/// # Errors
///
/// If the service cannot start, with what to do about it, or if the listener fails.
pub async fn run(
    settings: ServeSettings<'_>,
    quotas: Quotas,
    sealer: Sealer,
    telemetry: Telemetry,
) -> Result<()> {
    settings.ensure_complete()?;
    let ServeSettings {
        store: store_settings,
        process,
        service: settings,
        listener,
        provisioner,
        remote,
        gateway: gateway_settings,
    } = settings;
    // Before anything that takes time, so that a signal during the start ends it in order.
    let Signals { stop, hang_up } = Signals::listen()?;
    let database = store_settings.database_url.database()?;
    let is_alone = claimed(&database)?;
    let choice = Choice::look(provisioner, remote, folder_beside(&database))?;
    let gateway = GatewayConfig::load(gateway_settings, listener)?;
    let listeners = Listeners::bind(settings, gateway_settings.address())?;
    let tls = tls::load(listener, hang_up).await?;
    let steps = Arc::new(Steps::default());
    let metrics = Metrics::new(Arc::clone(&steps), telemetry);
    let metrics = Arc::new(match &gateway {
        Some(gateway) => metrics.with_gateway(gateway.counts()),
        None => metrics,
    });
    let health = Health::default();
    let management = Management::start(
        listeners.management,
        management::router(Arc::clone(&metrics), health.clone()),
        health.accept_failures(),
    )?;
    let world = World::real();
    let (work, long_threads) = long_work()?;
    // Opening may wait for the migrations of another replica, and a signal to stop must not wait
    // for those.
    let (store, authority) = tokio::select! {
        opened = open((database, settings), &sealer, &world, &long_threads) => opened?,
        () = stop.cancelled() => {
            tracing::info!("stopped before the database was open");
            return Ok(());
        }
    };
    let provisioner = choice
        .decide((process, provisioner), &store, &world, authority)
        .await?;
    let context = operations::Context {
        world: world.clone(),
        sealer: Arc::new(sealer),
        service_domain: process.service_domain.as_str().to_owned(),
        quotas,
        postgres_offers: provisioner.offers(),
        idempotency_keys: settings.idempotency_keys.get(),
    };
    let limits = (settings, listener);
    let router = router(limits, &store, &context, (work, &long_threads), &metrics);
    let sweeping = sweep::run(store.clone(), world.clone(), trail(settings), stop.clone());
    let sweeping = tokio::spawn(sweeping);
    let reconciling = Reconciling {
        store: store.clone(),
        context: context.clone(),
        config: reconciler_config(settings, listener, is_alone),
        steps,
    };
    // The reconciler and the listeners stop on the same signal, so that their time to finish runs
    // at once.
    let reconciling = provisioner.start(reconciling, &stop);
    let files = gateway.as_ref().map_or(0, GatewayConfig::files);
    let connections = raise_open_files(listener.max_connections.get(), files);
    let connections = Connections::new(connections, metrics.connections());
    let start = || {
        let tls = tls.as_ref();
        let api = Serving::start(listener, listeners.api, router, tls, connections, &health)?;
        let Some((config, socket)) = gateway.zip(listeners.gateway) else {
            return Ok((api, None));
        };
        let connections = gateway_settings.gateway_max_connections.get();
        let connections = Connections::new(connections, config.counts().connections());
        let router = Gateway::new(config, store.clone(), world).router();
        let gateway = Serving::start(listener, socket, router, tls, connections, &health)?;
        Ok((api, Some(gateway)))
    };
    let served = match start() {
        Ok((api, gateway)) => {
            // Ready only now that the sockets accept connections, and before it is announced to
            // scripts.
            health.start(store.clone());
            api.announce(management.address(), gateway.as_ref());
            log_recorded(settings.balance);
            let grace = listener.shutdown_timeout.get();
            let gateway = async {
                match gateway {
                    Some(gateway) => gateway.until(&stop, &health, grace).await,
                    None => Ok(()),
                }
            };
            let (api, gateway) = tokio::join!(api.until(&stop, &health, grace), gateway);
            api.and(gateway)
        }
        Err(error) => Err(error),
    };
    // Without a signal, if a listener cannot be started.
    stop.cancel();
    // An error is ignored: the reconciler logs its failures, and the panic hook logs a panic.
    let _ = tokio::join!(reconciling, sweeping);
    // Requests that were given up have no connection any more, but may still read.
    let _ = timeout(WAIT, long_threads.rest()).await;
    // After the reconciler, whose workers write the results of their last steps.
    store.close().await;
    served
}

/// Returns what limits long work, and the threads that it runs on.
fn long_work() -> Result<(LongWork, LongThreads)> {
    let work = LongWork::new(available_parallelism().map_or(1, NonZeroUsize::get));
    let threads = work.start_threads();
    let threads = threads.context("failed to start the threads of long work")?;
    Ok((work, threads))
}

/// Returns what the audit trail keeps.
fn trail(settings: &ServiceSettings) -> Trail {
    Trail {
        retention: settings.audit_retention.get(),
        entries: settings.audit_entries.get(),
    }
}

/// Claims a database that one process alone may use, and returns whether it is such a one.
fn claimed(database: &DatabaseLocation) -> Result<bool> {
    match database {
        DatabaseLocation::Sqlite(file) => {
            claim(file)?;
            Ok(true)
        }
        DatabaseLocation::Postgres(_) => Ok(false),
    }
}

/// Opens the database, and loads or creates the certificate authority in it.
async fn open(
    (database, settings): (DatabaseLocation, &ServiceSettings),
    sealer: &Sealer,
    world: &World,
    long_threads: &LongThreads,
) -> Result<(Store, Authority)> {
    let config = StoreConfig {
        database,
        connections: settings.database_connections.get() - settings.backends_of_data_plane(),
        patience: STATEMENT_TIMEOUT,
        silence: SILENCE,
        lock_wait: LOCK_WAIT,
        world: world.clone(),
    };
    let store = Store::open_with_long_pages(&config, long_threads.handle())
        .await
        .context("failed to open the database")?;
    let authority = Authority::load_or_create(&store, sealer, world).await?;
    Ok((store, authority))
}

/// Logs what the service only records, and what makes it real.
fn log_recorded(balance: Switch) {
    tracing::info!(
        "{}",
        match balance {
            Switch::On => {
                "this process records virtual machines, private subnets and firewalls, and `stratusd network` makes \
             networks of them; it is the data plane of load balancers"
            }
            Switch::Off => {
                "this process records virtual machines, private subnets, firewalls and load balancers: `stratusd network` \
             makes networks of them, and `stratusd balance` forwards connections"
            }
        }
    );
}

/// Returns the router of the API with the limits from the settings.
fn router(
    (settings, listener): (&ServiceSettings, &ListenerSettings),
    store: &Store,
    context: &operations::Context,
    (work, threads): (LongWork, &LongThreads),
    metrics: &Arc<Metrics>,
) -> Router {
    let limit = settings.rate_limit.map(|per_second| RateLimit {
        per_second: per_second.get(),
        burst: settings.rate_burst.unwrap_or(per_second).get(),
    });
    let mut config = server::Config::new()
        .head_limit(listener.header_limit.get())
        .body_limit(settings.body_limit.get())
        .body_timeout(listener.body_timeout.get())
        .requires_host();
    if let Some(allowed) = &settings.cors_origins {
        config = config.origins(allowed.get().clone());
    }
    if settings.docs == Switch::On {
        config = config.docs();
    }
    if settings.otlp_endpoint.is_some() {
        config = config.traces(traces::join);
    }
    let budget = Arc::new(Budget::new(
        settings.body_budget.get(),
        work,
        metrics.body_bytes(),
        metrics.body_refusals(),
    ));
    let config = config.around(move |request, next| {
        let budget = Arc::clone(&budget);
        Box::pin(async move { budget.handle(request, next).await })
    });
    let router = threads.layer(api::router(store, context, limit, config));
    Requests::new(Arc::clone(metrics)).layer(router)
}

fn reconciler_config(
    settings: &ServiceSettings,
    listener: &ListenerSettings,
    is_alone: bool,
) -> ReconcilerConfig {
    ReconcilerConfig {
        lease: settings.reconcile_lease.get(),
        observe_every: settings.observe_every.get(),
        poll: POLL,
        step_limit: STEP_LIMIT,
        grace: listener.shutdown_timeout.get(),
        is_alone,
    }
}
