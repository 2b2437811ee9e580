//! The second port: whether the process lives, whether it can serve, and what it has counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http::{StatusCode, header};

use super::metrics::Metrics;
use crate::storage::{self, Store};

/// How long the database may take to answer before the service counts as not ready.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the service can serve.
#[derive(Debug, Clone)]
pub(super) struct Health {
    store: Store,
    is_ready: Arc<AtomicBool>,
}

impl Health {
    pub(super) fn new(store: Store) -> Self {
        Self { store, is_ready: Arc::default() }
    }

    /// Starting and stopping services are not ready.
    pub(super) fn set_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Ordering::Relaxed);
    }

    async fn check(&self) -> Result<(), &'static str> {
        if !self.is_ready.load(Ordering::Relaxed) {
            return Err("starting or stopping\n");
        }
        let asked = async {
            let mut reader = self.store.reader().await?;
            storage::location::all(&mut reader.connection()).await
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err("the database fails\n"),
            Err(_) => Err("the database does not answer\n"),
        }
    }
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
        async { ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text) }
    };
    Router::new()
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(exposition))
        .with_state(health)
}
