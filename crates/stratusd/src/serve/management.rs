//! The second port: whether the process lives, whether it can serve, and what it has counted.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http::{StatusCode, header};
use prometheus_client::metrics::gauge::Gauge;

use super::connections::Limited;
use super::metrics::Metrics;
use super::times::Timed;
use crate::storage::{self, Store};

/// How long the database may take to answer before the service counts as not ready.
const PATIENCE: Duration = Duration::from_secs(2);

/// Connections at once, for a few that probe and a few that collect.
const CONNECTIONS: u32 = 64;
/// The time for the head of a request to arrive.
const HEAD: Duration = Duration::from_secs(5);
/// The time after which a connection that neither sends nor takes anything is closed.
const IDLE: Duration = Duration::from_secs(30);

/// Whether the service can serve.
#[derive(Debug, Clone, Default)]
pub(super) struct Health {
    /// What it serves from, while it serves.
    serving: Arc<RwLock<Option<Store>>>,
}

impl Health {
    /// From now on it serves.
    pub(super) fn serves(&self, store: Store) {
        *self.serving.write().unwrap_or_else(PoisonError::into_inner) = Some(store);
    }

    /// From now on it does not.
    pub(super) fn stops(&self) {
        *self.serving.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn check(&self) -> Result<(), &'static str> {
        let serving = self
            .serving
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(store) = serving else {
            return Err("starting or stopping\n");
        };
        let asked = async {
            let mut reader = store.reader().await?;
            storage::location::all(&mut reader.connection()).await
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err("the database fails\n"),
            Err(_) => Err("the database does not answer\n"),
        }
    }
}

/// Accepts connections within limits of this port's own, so that nobody can use up what the API has from here.
pub(super) fn acceptor() -> Timed<Limited> {
    // They are not counted among the API's.
    Timed::new(Limited::new(CONNECTIONS, Gauge::default()), HEAD, IDLE)
}

pub(super) fn router(metrics: Arc<Metrics>, health: Health) -> Router {
    let ready = |State(health): State<Health>| async move {
        match health.check().await {
            Ok(()) => (StatusCode::OK, "ready\n"),
            Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason),
        }
    };
    let exposition = move || {
        let text = metrics.text();
        async {
            (
                [(
                    header::CONTENT_TYPE,
                    "application/openmetrics-text; version=1.0.0; charset=utf-8",
                )],
                text,
            )
        }
    };
    Router::new()
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(exposition))
        .with_state(health)
}
