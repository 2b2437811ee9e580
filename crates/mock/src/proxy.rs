//! A proxy in front of a real server, which judges requests and responses by the contract.
//!
//! Each request is forwarded, and the server's response returned unchanged. What does not fit the
//! contract is a [`Finding`](findings::Finding): a line for the terminal, and an entry in a header
//! of the response. Bodies that the generated server checks are held until they are complete, up to
//! [`MOST_JUDGED`]; others are passed on as they arrive.

mod findings;
mod hold;
mod requests;
mod responses;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use api_runtime::server::{Response, remove_connection_headers};
use axum::body::Body;
use axum::extract::Request;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode, header, response};

pub use findings::{Findings, Totals};
use findings::{Notes, Place};
use hold::Held;
use requests::{Requests, Verdict};
use responses::Responses;
pub use upstream::{ProxyError, Upstream};
use upstream::{Pulse, Sender};

use crate::bounds::{CONNECT_TIMEOUT, HOLD_TIMEOUT, IDLE_TIMEOUT, MOST_JUDGED, RESPONSE_TIMEOUT};
use crate::respond::problem;
use crate::router::Mock;

/// The header of a response that says what does not fit the contract.
pub(crate) const VIOLATIONS: HeaderName = HeaderName::from_static("stratus-violations");

/// How a proxy works.
#[derive(Debug, Clone)]
pub struct ProxySettings {
    /// The server.
    pub upstream: Upstream,
    /// Whether what does not fit the contract becomes an error: such a request is refused as a
    /// mock refuses it, and in place of such a response the caller gets a 502.
    pub errors: bool,
    /// How long the proxy waits.
    pub times: Times,
}

/// How long a proxy waits.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// The longest wait for a connection to the server.
    pub connect: Duration,
    /// The longest wait for the head of a response, once nothing more of the request is sent.
    pub response: Duration,
    /// The longest wait for the rest of a body, before it is passed on without a judgement.
    pub hold: Duration,
    /// The longest wait for the next bytes of a body that is passed on.
    pub idle: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            connect: CONNECT_TIMEOUT,
            response: RESPONSE_TIMEOUT,
            hold: HOLD_TIMEOUT,
            idle: IDLE_TIMEOUT,
        }
    }
}

impl Mock {
    /// Returns a proxy in front of a server instead of a mock, and what it finds.
    ///
    /// # Errors
    ///
    /// If TLS cannot be set up.
    pub fn proxy(self, settings: ProxySettings) -> Result<(axum::Router, Findings), ProxyError> {
        let (notes, findings) = findings::channel();
        let proxy = Arc::new(Proxy {
            sender: Sender::new(settings.upstream, settings.times)?,
            errors: settings.errors,
            times: settings.times,
            responses: Responses::new(&self.state),
            requests: Requests::new(self.state),
            notes,
        });
        let router = axum::Router::new().fallback(move |request: Request| {
            let proxy = Arc::clone(&proxy);
            async move { proxy.forward(request).await }
        });
        Ok((router, findings))
    }
}

/// What the requests of a proxy share.
struct Proxy {
    sender: Sender,
    errors: bool,
    times: Times,
    requests: Requests,
    responses: Responses,
    notes: Notes,
}

impl Proxy {
    async fn forward(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        if self.sender.is_loop(&parts.headers) {
            let message = "the request has been here before: the proxy forwards to itself";
            return problem(StatusCode::LOOP_DETECTED, message);
        }
        self.notes.begin();
        let pulse = Pulse::default();
        let (verdict, held) = if is_preflight(&parts) {
            // A browser asks on its own account, for what no contract describes.
            (Verdict::default(), Held::Passing(body))
        } else {
            match self.judge_request(&parts, body).await {
                Ok(judged) => judged,
                Err(refused) => return refused,
            }
        };
        let place = Place::new(&parts, verdict.operation);
        self.notes.add(&place, &verdict.findings);
        if self.errors
            && let Some(mut refused) = verdict.refused
        {
            findings::write(refused.headers_mut(), &[&verdict.findings]);
            return refused;
        }
        let body = held.into_body(self.times.idle, &pulse);
        let method = parts.method.clone();
        let response = match self.sender.send(parts, body, &pulse).await {
            Ok(response) => response,
            Err(failed) => return failed,
        };
        let (mut parts, body) = response.into_parts();
        remove_connection_headers(&mut parts.headers);
        let (held, found) = match verdict.operation {
            Some(operation) => {
                let exchange = Exchange {
                    operation: &operation.id,
                    method: &method,
                    place: &place,
                };
                match self.judge_response(&exchange, &parts, body).await {
                    Ok(judged) => judged,
                    Err(failed) => return failed,
                }
            }
            None => (Held::Passing(body), Vec::new()),
        };
        self.notes.add(&place, &found);
        if self.errors && !found.is_empty() {
            let message = findings::summary(&found);
            let mut failed = problem(StatusCode::BAD_GATEWAY, &message);
            findings::write(failed.headers_mut(), &[&verdict.findings, &found]);
            return failed;
        }
        findings::write(&mut parts.headers, &[&verdict.findings, &found]);
        // The pulse of a response has no reader: nothing is waited for once its head is here.
        let body = held.into_body(self.times.idle, &Pulse::default());
        Response::from_parts(parts, body)
    }

    /// Judges a request. Its body is held if the generated server would check it.
    async fn judge_request(&self, parts: &Parts, body: Body) -> Result<(Verdict, Held), Response> {
        let verdict = self.requests.judge_head(parts).await;
        if !verdict.checks_body {
            return Ok((verdict, Held::Passing(body)));
        }
        let held = hold::hold(body, MOST_JUDGED, self.times.hold).await;
        let held = held.map_err(|_| {
            let message = "the body of the request could not be read to its end";
            problem(StatusCode::BAD_REQUEST, message)
        })?;
        let verdict = match &held {
            Held::Whole(bytes) => self.requests.judge(parts, bytes.clone()).await,
            Held::Passing(_) => {
                let place = Place::new(parts, verdict.operation);
                self.notes.not_judged(&place, "request");
                verdict
            }
        };
        Ok((verdict, held))
    }

    /// Judges a response. Its body is held if the generated client would read it as a whole.
    async fn judge_response(
        &self,
        exchange: &Exchange<'_>,
        parts: &response::Parts,
        body: Body,
    ) -> Result<(Held, Vec<findings::Finding>), Response> {
        let is_head = *exchange.method == Method::HEAD;
        let checks_body = !is_head && self.responses.checks_body(exchange.operation, parts);
        if !checks_body {
            let has_body = !is_head && !http_body::Body::is_end_stream(&body);
            let judged = self
                .responses
                .judge(exchange.operation, parts, has_body, None);
            return Ok((Held::Passing(body), judged.await));
        }
        let held = hold::hold(body, MOST_JUDGED, self.times.hold).await;
        let held = held.map_err(|_| {
            let message = "the server ended its response early";
            problem(StatusCode::BAD_GATEWAY, message)
        })?;
        let plain = match &held {
            Held::Whole(bytes) => hold::decoded(&parts.headers, bytes),
            Held::Passing(_) => None,
        };
        if plain.is_none() {
            self.notes.not_judged(exchange.place, "response");
        }
        let has_body = !matches!(&held, Held::Whole(bytes) if bytes.is_empty());
        let judged = self
            .responses
            .judge(exchange.operation, parts, has_body, plain);
        Ok((held, judged.await))
    }
}

/// A request whose response is judged.
struct Exchange<'e> {
    operation: &'static str,
    method: &'e Method,
    place: &'e Place,
}

/// Returns whether a request is the question of a browser that precedes one of another origin.
fn is_preflight(parts: &Parts) -> bool {
    let has = |name: HeaderName| parts.headers.contains_key(name);
    parts.method == Method::OPTIONS
        && has(header::ORIGIN)
        && has(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the content type of a head.
fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok()
}
