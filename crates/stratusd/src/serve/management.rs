//! The management port: liveness, readiness and metrics.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum_server::accept::NoDelayAcceptor;
use axum_server::{Handle, Server};
use http::{StatusCode, header};

use super::accept::{AcceptFailures, Accepting, Peer};
use super::connections::{ConnectionCounts, Connections};
use super::metrics::Metrics;
use super::serving::NO_DELAY;
use super::times::Timed;
use crate::storage::{self, Owner, Store};

/// How long the database may take to respond before the service counts as not ready.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of connections to the management port. Its callers are a few probes and a few
/// collectors of metrics.
const CONNECTIONS: u32 = 64;
/// How long the head of a request to the management port may take to arrive.
const HEAD: Duration = Duration::from_secs(5);
/// How long a connection to the management port may be idle before it is closed.
const IDLE: Duration = Duration::from_secs(30);

/// The server of the management port.
///
/// It runs from before the database is open until after the last request, so that a probe can tell
/// a process that is starting or stopping from a dead one. Dropping it stops the server.
pub(crate) struct Management {
    address: SocketAddr,
    handle: Handle<Peer>,
}

impl Management {
    pub(crate) fn start(
        listener: TcpListener,
        router: Router,
        failures: Arc<AcceptFailures>,
    ) -> Result<Self> {
        let (address, handle) = (listener.local_addr()?, Handle::new());
        let listener = Accepting::new(listener, failures)?;
        let server = Server::from_listener(listener)
            .handle(handle.clone())
            .acceptor(acceptor())
            // Probes and collectors do not need HTTP/2, which has limits of its own. After the acceptor, which
            // allows all versions again.
            .http1_only();
        tokio::spawn(server.serve(router.into_make_service()));
        Ok(Self { address, handle })
    }

    /// Starts a server that responds to each request with a text, with the same limits of connections
    /// and times. It takes the place of a virtual machine's server in demonstrations.
    pub(crate) fn respond(
        listener: TcpListener,
        text: String,
        failures: Arc<AcceptFailures>,
    ) -> Result<Self> {
        let router = Router::new().fallback(move || std::future::ready(text.clone()));
        Self::start(listener, router, failures)
    }

    /// Returns the address that the server listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

/// Returns the acceptor of the management port. Its limits are its own, so that callers of this
/// port cannot use up the connections of the API.
fn acceptor() -> Timed<NoDelayAcceptor> {
    // Counts that are not registered: the metrics count connections to the API only.
    let connections = Connections::new(CONNECTIONS, ConnectionCounts::default());
    Timed::new(NO_DELAY, connections, HEAD, IDLE)
}

/// The state that decides whether the service is ready for requests. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Health {
    /// What must respond while the process is ready, `None` while it starts or stops.
    needs: Arc<RwLock<Option<Needs>>>,
    accept_failures: Arc<AcceptFailures>,
}

/// What a process needs to serve requests.
#[derive(Debug, Clone)]
enum Needs {
    Store(Store),
    Nothing,
}

impl Health {
    /// Makes the service ready from now on, whenever this store responds and connections can be
    /// accepted.
    pub(super) fn start(&self, store: Store) {
        self.set(Some(Needs::Store(store)));
    }

    /// Makes a process without a store ready from now on, whenever connections can be accepted.
    #[cfg_attr(
        not(feature = "provisioners"),
        expect(dead_code, reason = "it is for the process of a provisioner")
    )]
    pub(super) fn start_alone(&self) {
        self.set(Some(Needs::Nothing));
    }

    fn set(&self, needs: Option<Needs>) {
        *self.needs.write().unwrap_or_else(PoisonError::into_inner) = needs;
    }

    /// Makes the service not ready, until `start` is called again.
    pub(super) fn stop(&self) {
        self.set(None);
    }

    /// Returns the record in which listeners store the time of a failure to accept a connection.
    pub(super) fn accept_failures(&self) -> Arc<AcceptFailures> {
        Arc::clone(&self.accept_failures)
    }

    /// Checks that the service is ready: it has started and is not stopping, has accepted
    /// connections without a recent failure, and its database responds and accepts changes.
    ///
    /// # Errors
    ///
    /// The reason why the service is not ready, as the body of the response to the probe.
    pub(super) async fn check(&self) -> Result<(), &'static str> {
        // Cloned, so that the lock is not held while the database is queried.
        let needs = self
            .needs
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(needs) = needs else {
            return Err("starting or stopping\n");
        };
        if self.accept_failures.are_recent() {
            return Err("connections cannot be accepted\n");
        }
        let Needs::Store(store) = needs else {
            return Ok(());
        };
        let uses = async {
            // Before the queries of callers, which must not make the service unready.
            let mut reader = store.reader_for(&Owner::Probe).await?;
            // Any query shows that the database responds; this table is small.
            storage::location::all(&mut reader.connection()).await?;
            drop(reader);
            store.ensure_writable().await
        };
        match tokio::time::timeout(DATABASE_TIMEOUT, uses).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err("the database failed\n"),
            Err(_) => Err("the database does not respond\n"),
        }
    }
}

/// Returns the router of the management port of the API.
pub(super) fn router(metrics: Arc<Metrics>, health: Health) -> Router {
    let ready = |State(health): State<Health>| async move { readiness(health.check().await) };
    let keys = Arc::clone(&metrics);
    let keys = move || {
        let text = keys.keys_text().ok_or(StatusCode::NOT_FOUND);
        std::future::ready(text.map(exposition))
    };
    Router::new()
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .route(
            "/metrics",
            get(move || std::future::ready(exposition(metrics.text()))),
        )
        .route("/metrics/inference-keys", get(keys))
        .with_state(health)
}

/// Returns the response to a probe of readiness, with the reason if the process is not ready.
pub(crate) fn readiness<E: IntoResponse>(checked: Result<(), E>) -> Response {
    match checked {
        Ok(()) => "ready\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason).into_response(),
    }
}

/// Returns a response with metrics in the `OpenMetrics` text format.
pub(crate) fn exposition(text: String) -> Response {
    const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, TYPE)], text).into_response()
}
