//! The layer around the API, which counts and logs responses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api_server::OPERATIONS;
use api_server::server::{OperationId, TraceContext};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::Response;
use http::{HeaderName, Method};

use super::metrics::Metrics;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The name in metrics and logs for requests that belong to no operation. It is one name for all of
/// them: with the path as a label, callers could create any number of time series.
const NONE: &str = "none";

/// The state of the layer.
#[derive(Debug)]
pub(super) struct Requests {
    metrics: Arc<Metrics>,
}

impl Requests {
    /// Creates the layer.
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics }
    }

    /// Adds the layer to a router.
    pub(super) fn layer(self, router: Router) -> Router {
        let requests = Arc::new(self);
        router.layer(middleware::from_fn(move |request: Request, next: Next| {
            let requests = Arc::clone(&requests);
            async move { requests.handle(request, next).await }
        }))
    }

    async fn handle(&self, request: Request, next: Next) -> Response {
        let since = Instant::now();
        let method = known_method(request.method());
        let response = next.run(request).await;
        let operation = response
            .extensions()
            .get::<OperationId>()
            .map_or(NONE, |id| id.0);
        let time = since.elapsed();
        self.metrics.count(operation, response.status(), time);
        log(operation, method, &response, time);
        response
    }
}

/// Returns the name of a standard method, or `other`. A caller must not be able to write text of
/// its own to the log.
pub(crate) fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::TRACE => "TRACE",
        Method::CONNECT => "CONNECT",
        _ => "other",
    }
}

/// Writes a line of the access log. It has the route in place of the path and query, which may
/// contain personal data.
fn log(operation: &'static str, method: &'static str, response: &Response, time: Duration) {
    // Saves the search for the route while the access log is off.
    if !tracing::enabled!(target: "stratusd::access", tracing::Level::INFO) {
        return;
    }
    let route = OPERATIONS
        .iter()
        .find(|known| known.id == operation)
        .map_or(NONE, |known| known.path);
    let status = response.status().as_u16();
    let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
    let duration_ms = f64::from(micros) / 1000.0;
    let id = response
        .headers()
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok())
        .unwrap_or_default();
    let trace = response.extensions().get::<TraceContext>();
    let trace_id = trace.map(|context| format!("{:032x}", context.trace_id()));
    tracing::info!(target: "stratusd::access", operation, method, route, status, duration_ms, request_id = id, trace_id, "responded");
}
