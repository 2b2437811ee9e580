//! The layer around the API, which counts and logs requests, also those whose callers go away before the
//! response.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api_server::OPERATIONS;
use api_server::server::{OperationSlot, TraceContext};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::Response;
use http::{Extensions, HeaderMap, HeaderName, Method};

use super::metrics::Metrics;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The name in metrics and logs for requests that belong to no operation. It is one name for all of
/// them: with the path as a label, callers could create any number of time series.
const NONE: &str = "none";

/// The status in metrics and logs of a request that has no response. HTTP has none for it; this is the one
/// of nginx.
const GONE: u16 = 499;

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

    async fn handle(&self, mut request: Request, next: Next) -> Response {
        let slot = OperationSlot::default();
        request.extensions_mut().insert(slot.clone());
        let mut counted = Counted {
            metrics: &self.metrics,
            slot,
            method: known_method(request.method()),
            since: Instant::now(),
            has_ended: false,
        };
        let response = next.run(request).await;
        counted.end(&response);
        response
    }
}

/// A request that is counted and logged when it ends, also if it ends without a response.
struct Counted<'r> {
    metrics: &'r Metrics,
    slot: OperationSlot,
    method: &'static str,
    since: Instant,
    has_ended: bool,
}

impl Counted<'_> {
    fn end(&mut self, response: &Response) {
        self.has_ended = true;
        let status = response.status().as_u16();
        self.count(status, response.headers(), response.extensions());
    }

    fn count(&self, status: u16, headers: &HeaderMap, extensions: &Extensions) {
        let operation = self.slot.get().map_or(NONE, |id| id.0);
        let time = self.since.elapsed();
        self.metrics.count(operation, status);
        if status != GONE {
            self.metrics.record(operation, time);
        }
        log(operation, self.method, (status, headers, extensions), time);
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.count(GONE, &HeaderMap::new(), &Extensions::new());
        }
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
fn log(
    operation: &'static str,
    method: &'static str,
    (status, headers, extensions): (u16, &HeaderMap, &Extensions),
    time: Duration,
) {
    // Saves the search for the route while the access log is off.
    if !tracing::enabled!(target: "stratusd::access", tracing::Level::INFO) {
        return;
    }
    let route = OPERATIONS
        .iter()
        .find(|known| known.id == operation)
        .map_or(NONE, |known| known.path);
    let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
    let duration_ms = f64::from(micros) / 1000.0;
    let id = headers
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok())
        .unwrap_or_default();
    let outcome = if status == GONE {
        "ended without a response"
    } else {
        "responded"
    };
    let trace = extensions.get::<TraceContext>();
    let trace_id = trace.map(|context| format!("{:032x}", context.trace_id()));
    tracing::info!(target: "stratusd::access", operation, method, route, status, duration_ms, request_id = id, trace_id, "{outcome}");
}
