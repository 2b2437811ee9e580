//! The gateway: checks inference keys, and forwards requests to an OpenAI-compatible upstream.
//!
//! A key opens `/v1/`, whose requests are forwarded as they arrive, in both directions, with the
//! credential of the gateway in place of the key. `/auth` only checks a key, for a proxy that
//! forwards requests itself. Start at `Gateway::respond`.

mod body;
mod config;
mod counts;
mod error;
mod exchange;
mod headers;
mod key_counts;
mod keys;
mod limits;
mod path;
mod upstream;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, Uri};
use http_body::Body as _;

use crate::storage::Store;
use crate::world::World;

use body::{Download, Holding, Upload, discard};
pub use config::GatewayConfig;
pub use counts::Counts;
use error::GatewayError;
use exchange::Exchange;
use keys::{Key, Keys};
use limits::{Limits, Place};
use path::Route;
use upstream::Upstream;

/// The gateway of a store.
#[derive(Debug)]
pub struct Gateway {
    keys: Arc<Keys>,
    limits: Limits,
    upstream: Option<Upstream>,
    credential: Option<HeaderValue>,
    head_limit: usize,
    body_limit: usize,
    counts: Arc<Counts>,
    world: World,
}

/// What a request is forwarded with.
struct Forwarding<'g> {
    upstream: &'g Upstream,
    /// The URI at the upstream.
    uri: Uri,
    key: Key,
    /// Its place among the requests that are forwarded at a time.
    place: Place,
}

impl Gateway {
    /// Creates the gateway of a store.
    #[must_use]
    pub fn new(config: GatewayConfig, store: Store, world: World) -> Self {
        Self {
            keys: Arc::new(Keys::new(store)),
            limits: Limits::new(config.key, config.project, config.requests),
            upstream: config.upstream,
            credential: config.credential,
            head_limit: config.head_limit,
            body_limit: config.body_limit,
            counts: config.counts,
            world,
        }
    }

    /// Returns the router, which has the gateway alone.
    pub fn router(self) -> Router {
        let gateway = Arc::new(self);
        Router::new().fallback(move |request: Request| {
            let gateway = Arc::clone(&gateway);
            async move { gateway.respond(request).await }
        })
    }

    /// Returns the response to a request.
    async fn respond(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let mut exchange = Exchange::new(parts, self.upstream.is_some(), &self.world);
        let mut body = Some(body);
        let result = self.handle(&mut exchange, &mut body).await;
        let refusal = result.as_ref().err().copied();
        if let Some(body) = body {
            discard_unless_expected(&exchange.parts, body);
        }
        let mut response = result.unwrap_or_else(GatewayError::into_response);
        let id = exchange.request_id.clone();
        response.headers_mut().insert(headers::REQUEST_ID, id);
        let (key, route) = (exchange.key.as_ref(), exchange.route.name());
        self.counts.count(key, route, response.status(), refusal);
        exchange.log(response.status());
        response
    }

    /// Checks a request, and does what it is for. Takes the body if it is forwarded.
    async fn handle(
        &self,
        exchange: &mut Exchange,
        body: &mut Option<Body>,
    ) -> Result<Response, GatewayError> {
        if exchange.head_size() > self.head_limit {
            return Err(GatewayError::HeadTooLarge);
        }
        if exchange.route == Route::Unknown {
            return Err(GatewayError::NotFound);
        }
        let key = self.keys.check(&exchange.parts).await?;
        let key = &*exchange.key.insert(key);
        let (Route::Forward(rest), Some(upstream)) = (&exchange.route, &self.upstream) else {
            self.limits.ensure_rate(key)?;
            return Ok(authorised(key));
        };
        if !is_forwarded(&exchange.parts.method) {
            return Err(GatewayError::MethodNotAllowed);
        }
        let uri = upstream.uri(rest).ok_or(GatewayError::NotFound)?;
        let is_larger = |body: &Body| body.size_hint().lower() > self.body_limit as u64;
        if body.as_ref().is_some_and(is_larger) {
            return Err(GatewayError::BodyTooLarge);
        }
        // Before the rate: a request for which there is no place uses up no allowance.
        let place = self.limits.take_place(key)?;
        self.limits.ensure_rate(key)?;
        let forwarding = Forwarding {
            upstream,
            uri,
            key: key.clone(),
            place,
        };
        let body = body.take().unwrap_or_default();
        self.forward(exchange, forwarding, body).await
    }

    /// Forwards a request. Returns the response of the upstream, whose body is passed on as it
    /// arrives.
    async fn forward(
        &self,
        exchange: &Exchange,
        forwarding: Forwarding<'_>,
        body: Body,
    ) -> Result<Response, GatewayError> {
        let Forwarding {
            upstream,
            uri,
            key,
            place,
        } = forwarding;
        let holding: Holding = Arc::new((place, self.counts.begin()));
        let times = upstream.times();
        let (upload, state) = Upload::new(body, self.body_limit, times.body, Arc::clone(&holding));
        // The version is that of this new request: the caller's may be HTTP/2.
        let mut request = http::Request::new(upload);
        *request.method_mut() = exchange.parts.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = exchange.parts.headers.clone();
        let credential = self.credential.as_ref();
        headers::for_upstream(request.headers_mut(), credential, &exchange.request_id);
        let keys = Arc::clone(&self.keys);
        let mut deleted = Box::pin(async move { keys.until_deleted(&key).await });
        let response = tokio::select! {
            sent = upstream.send(request, &state) => sent?,
            () = &mut deleted => return Err(GatewayError::InvalidKey),
        };
        self.counts.observe(exchange.since.elapsed());
        let (mut parts, body) = response.into_parts();
        ensure_final(parts.status)?;
        headers::for_caller(&mut parts.headers);
        let id = exchange.id().to_owned();
        let body = Download::new(body, times.idle, deleted, id, holding);
        let mut response = Response::new(Body::new(body));
        *response.status_mut() = parts.status;
        *response.headers_mut() = parts.headers;
        Ok(response)
    }
}

/// Returns the response that lets a proxy forward a request.
fn authorised(key: &Key) -> Response {
    let mut response = Response::default();
    let values = [
        (headers::PROJECT, key.project.as_str()),
        (headers::KEY_ID, key.id.as_str()),
    ];
    for (name, value) in values {
        let value = HeaderValue::from_str(value).expect("an id has letters and digits");
        response.headers_mut().insert(name, value);
    }
    response
}

/// Returns whether requests with a method are forwarded. Those of TRACE are not, since a server may
/// return what it has received, with the credential of the gateway.
fn is_forwarded(method: &Method) -> bool {
    matches!(
        *method,
        Method::DELETE
            | Method::GET
            | Method::HEAD
            | Method::OPTIONS
            | Method::PATCH
            | Method::POST
            | Method::PUT
    )
}

/// Checks that the status of an upstream's response is for the caller.
///
/// # Errors
///
/// If it is about the credential that the gateway has sent: the caller's key is right, and the
/// response may show a part of the credential. Also if it switches protocols, for which nothing has
/// asked, since `Upgrade` is not forwarded.
fn ensure_final(status: StatusCode) -> Result<(), GatewayError> {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            tracing::error!(
                status = status.as_u16(),
                "the upstream does not accept the gateway: correct gateway_upstream_key"
            );
            Err(GatewayError::Refused)
        }
        StatusCode::SWITCHING_PROTOCOLS => Err(GatewayError::NoResponse),
        _ => Ok(()),
    }
}

/// Receives a part of a body that is not forwarded, unless its caller sends it only after the
/// status 100.
fn discard_unless_expected(parts: &Parts, body: Body) {
    if !parts.headers.contains_key(http::header::EXPECT) {
        discard(body);
    }
}
