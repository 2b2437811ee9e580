//! What happens to every request around the API: its head is weighed, its answer counted and logged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use api_server::OPERATIONS;
use api_server::server::{OperationId, RequestId};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::Response;
use http::{HeaderName, HeaderValue, Method};

use super::metrics::Metrics;
use crate::api;
use crate::world::World;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What belongs to no operation has one name together, or anybody could make up labels.
const NONE: &str = "none";

/// What is done with requests.
#[derive(Debug)]
pub(super) struct Requests {
    head_limit: usize,
    metrics: Arc<Metrics>,
    /// The beginning of the ids that are made here, and how many there are.
    ids: (u64, AtomicU64),
}

impl Requests {
    /// Refuses heads that are larger than this, in bytes.
    pub(super) fn new(head_limit: usize, metrics: Arc<Metrics>, world: &World) -> Self {
        Self {
            head_limit,
            metrics,
            ids: (u64::from_be_bytes(world.random()), AtomicU64::new(0)),
        }
    }

    /// A router whose requests are treated so.
    pub(super) fn around(self, router: Router) -> Router {
        let requests = Arc::new(self);
        router.layer(middleware::from_fn(move |request: Request, next: Next| {
            let requests = Arc::clone(&requests);
            async move { requests.answer(request, next).await }
        }))
    }

    async fn answer(&self, request: Request, next: Next) -> Response {
        let since = Instant::now();
        let method = known(request.method());
        let response = if head_size(&request) > self.head_limit {
            self.refuse(&request)
        } else {
            next.run(request).await
        };
        let operation = response
            .extensions()
            .get::<OperationId>()
            .map_or(NONE, |id| id.0);
        let time = since.elapsed();
        self.metrics.count(operation, response.status(), time);
        log(operation, method, &response, time);
        response
    }

    /// The router names its requests itself, but does not see this one.
    fn refuse(&self, request: &Request) -> Response {
        let (process, count) = &self.ids;
        let given = request
            .headers()
            .get(REQUEST_ID)
            .and_then(|id| RequestId::new(id.to_str().ok()?));
        let id = given.map_or_else(
            || {
                format!(
                    "{process:016x}{:016x}",
                    count.fetch_add(1, Ordering::Relaxed)
                )
            },
            |given| given.to_string(),
        );
        let mut response = api::head_too_large(self.head_limit);
        response
            .headers_mut()
            .extend(HeaderValue::try_from(id).ok().map(|id| (REQUEST_ID, id)));
        response
    }
}

/// The size of a request's head as HTTP/1 would write it, but for spaces and ends of lines.
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

/// A method that HTTP knows by its name; what a caller has made up does not get into the log.
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

/// The access log. The path and the query are not in it: they hold names.
fn log(operation: &'static str, method: &'static str, response: &Response, time: Duration) {
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
    tracing::info!(target: "stratusd::access", operation, method, route, status, duration_ms, request_id = id, "answered");
}
