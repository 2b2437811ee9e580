//! What the management port of the data plane serves.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};

use super::engine::View;
use super::metrics::Metrics;
use crate::log::LogQueue;
use crate::serve::accept::AcceptFailures;
use crate::serve::management::{exposition, readiness};
use crate::watch::Reading;

/// What decides whether the data plane is ready.
#[derive(Debug, Clone)]
pub(super) struct Health {
    pub reading: Arc<Reading>,
    pub accept_failures: Arc<AcceptFailures>,
}

/// Returns the router of the management port.
pub(super) fn router(health: Health, view: Arc<dyn View>, log: Arc<LogQueue>) -> Router {
    let (shown, checked) = (Arc::clone(&view), Arc::clone(&view));
    let metrics = Metrics::new(Arc::clone(&health.reading), view, log);
    let metrics = Arc::new(metrics);
    Router::new()
        .route("/healthz", get(|| ready("alive\n")))
        .route(
            "/readyz",
            get(move || ready(readiness(check(&health, &*checked)))),
        )
        .route("/metrics", get(move || ready(exposition(metrics.text()))))
        .route("/load-balancers", get(move || ready(list(&*shown))))
}

/// Checks that the data plane knows what the database says now, and puts it in force.
///
/// # Errors
///
/// The reason why it does not, as the body of the response to the probe.
fn check(health: &Health, view: &dyn View) -> Result<(), String> {
    if health.accept_failures.are_recent() {
        return Err("connections cannot be accepted\n".to_owned());
    }
    match health.reading.age() {
        None => Err("the database was not read yet\n".to_owned()),
        Some(_) if health.reading.is_current() => match view.problem() {
            None => Ok(()),
            Some(problem) => Err(format!("{problem}\n")),
        },
        Some(age) => Err(format!(
            "the database cannot be read: balancing goes on with what was read {} seconds ago\n",
            age.as_secs()
        )),
    }
}

/// Returns the response with the status of all load balancers, in JSON.
fn list(view: &dyn View) -> Response {
    match serde_json::to_vec(&view.balancers()) {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
