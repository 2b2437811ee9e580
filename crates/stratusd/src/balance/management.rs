//! What the management port of the data plane serves.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};

use super::balancers::Balancers;
use super::metrics::Metrics;
use super::shared::Shared;
use super::status;
use crate::log::LogQueue;
use crate::serve::management::{exposition, readiness};

/// Returns the router of the management port.
pub(super) fn router(
    shared: &Arc<Shared>,
    balancers: &Arc<Balancers>,
    log: Arc<LogQueue>,
) -> Router {
    let (checked, shown) = (Arc::clone(shared), Arc::clone(balancers));
    let metrics = Metrics::new(Arc::clone(shared), Arc::clone(balancers), log);
    let metrics = Arc::new(metrics);
    Router::new()
        .route("/healthz", get(|| ready("alive\n")))
        .route("/readyz", get(move || ready(readiness(check(&checked)))))
        .route("/metrics", get(move || ready(exposition(metrics.text()))))
        .route("/load-balancers", get(move || ready(list(&shown))))
}

/// Checks that the data plane knows what the database says now.
///
/// # Errors
///
/// The reason why it does not, as the body of the response to the probe.
fn check(shared: &Shared) -> Result<(), String> {
    if shared.accept_failures.are_recent() {
        return Err("connections cannot be accepted\n".to_owned());
    }
    match shared.reading.age() {
        None => Err("the database was not read yet\n".to_owned()),
        Some(_) if shared.reading.is_current() => Ok(()),
        Some(age) => Err(format!(
            "the database cannot be read: balancing goes on with what was read {} seconds ago\n",
            age.as_secs()
        )),
    }
}

/// Returns the response with the status of all load balancers, in JSON.
fn list(balancers: &Balancers) -> Response {
    match serde_json::to_vec(&status::all(balancers)) {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
