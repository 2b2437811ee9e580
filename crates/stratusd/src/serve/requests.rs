//! The layer around the API: limits the size of heads, counts and logs responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use api_server::OPERATIONS;
use api_server::server::{OperationId, RequestId, discard};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::Response;
use http::{HeaderName, HeaderValue, Method};

use super::metrics::Metrics;
use crate::api;
use crate::world::World;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The name in metrics and logs for requests that belong to no operation. It is one name for all of
/// them: with the path as a label, callers could create any number of time series.
const NONE: &str = "none";

/// The state of the layer.
#[derive(Debug)]
pub(super) struct Requests {
    head_limit: usize,
    metrics: Arc<Metrics>,
    /// The first half of the request ids that this layer generates, which is random, and their
    /// count.
    ids: (u64, AtomicU64),
}

impl Requests {
    /// Creates a layer that rejects heads of more than `head_limit` bytes.
    pub(super) fn new(head_limit: usize, metrics: Arc<Metrics>, world: &World) -> Self {
        Self {
            head_limit,
            metrics,
            ids: (u64::from_be_bytes(world.random()), AtomicU64::new(0)),
        }
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
        let method = known(request.method());
        let given = request.headers().get(REQUEST_ID).cloned();
        let response = if head_size(&request) > self.head_limit {
            discard(request);
            api::head_too_large(self.head_limit)
        } else {
            next.run(request).await
        };
        let response = self.with_id(response, given.as_ref());
        let operation = response
            .extensions()
            .get::<OperationId>()
            .map_or(NONE, |id| id.0);
        let time = since.elapsed();
        self.metrics.count(operation, response.status(), time);
        log(operation, method, &response, time);
        response
    }

    /// Adds a request id, as the router sets it, to a response that did not come from the router.
    fn with_id(&self, mut response: Response, given: Option<&HeaderValue>) -> Response {
        if response.headers().contains_key(REQUEST_ID) {
            return response;
        }
        let (process, count) = &self.ids;
        let from_caller = given.and_then(|id| RequestId::new(id.to_str().ok()?));
        let id = from_caller.map_or_else(
            || {
                format!(
                    "{process:016x}{:016x}",
                    count.fetch_add(1, Ordering::Relaxed)
                )
            },
            |id| id.to_string(),
        );
        response
            .headers_mut()
            .extend(HeaderValue::try_from(id).ok().map(|id| (REQUEST_ID, id)));
        response
    }
}

/// Returns the size of the head of a request in bytes: method, target, and names and values of
/// headers.
///
/// It is the same for HTTP/1 and HTTP/2, whose own encoding is compressed.
fn head_size(request: &Request) -> usize {
    let uri = request.uri();
    let target = uri
        .authority()
        .map_or(0, |authority| authority.as_str().len())
        + uri.path_and_query().map_or(0, |path| path.as_str().len());
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    request.method().as_str().len() + target + headers.sum::<usize>()
}

/// Returns the name of a standard method, or `other`. A caller must not be able to write text of
/// its own to the log.
fn known(method: &Method) -> &'static str {
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
    tracing::info!(target: "stratusd::access", operation, method, route, status, duration_ms, request_id = id, "responded");
}
