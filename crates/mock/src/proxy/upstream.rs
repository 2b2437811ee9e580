//! The server behind a proxy: its address, and how requests get there.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_runtime::server::{Response, remove_connection_headers};
use axum::body::Body;
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::Verifier;
use tokio::time::{Instant, sleep_until};

use super::Times;
use crate::bounds::{MOST_BUFFERED, MOST_CONNECTIONS};
use crate::prefer::pieces;
use crate::respond::problem;

/// The address of a server, to which the paths of requests are appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    /// The path without a slash at its end.
    path: String,
}

impl FromStr for Upstream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The text is not repeated, since it may have a password.
        let wrong = "write the URL of a server, such as http://localhost:8080 or https://api.example.com/v1";
        let parts = text.parse::<Uri>().map_err(|_| wrong)?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(wrong.to_owned());
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(wrong.to_owned());
        }
        if authority.as_str().contains('@') {
            return Err(
                "leave user and password out of the URL: they are sent by callers".to_owned(),
            );
        }
        let path = parts.path_and_query.as_ref();
        if path.is_some_and(|path| path.query().is_some()) {
            return Err("leave the query out of the URL: requests have their own".to_owned());
        }
        let path = path.map_or("", PathAndQuery::path).trim_end_matches('/');
        Ok(Self {
            path: path.to_owned(),
            scheme,
            authority,
        })
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

/// Why there is no proxy.
#[derive(Debug)]
pub struct ProxyError(String);

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TLS cannot be set up: {}", self.0)
    }
}

impl std::error::Error for ProxyError {}

/// When something of a request was sent last.
#[derive(Clone)]
pub(super) struct Pulse(Arc<Mutex<Instant>>);

impl Default for Pulse {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Pulse {
    pub(super) fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends requests to the server.
pub(super) struct Sender {
    upstream: Upstream,
    client: Sending,
    response_time: Duration,
    /// The name in `Via` by which a proxy knows its own requests.
    name: String,
}

/// The HTTP client of the proxied server, with TLS if the server has it.
enum Sending {
    Plain(Client<HttpConnector, Body>),
    Tls(Client<HttpsConnector<HttpConnector>, Body>),
}

impl Sender {
    pub(super) fn new(upstream: Upstream, times: Times) -> Result<Self, ProxyError> {
        let mut connector = HttpConnector::new();
        // It is below the one for TLS too, which leaves `https` in the address.
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(times.connect));
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(times.hold)
            .pool_max_idle_per_host(MOST_CONNECTIONS)
            .http1_max_buf_size(MOST_BUFFERED);
        let client = if upstream.scheme == Scheme::HTTPS {
            let connector = HttpsConnectorBuilder::new()
                .with_tls_config(tls()?)
                .https_only()
                .enable_http1()
                .wrap_connector(connector);
            Sending::Tls(builder.build(connector))
        } else {
            Sending::Plain(builder.build(connector))
        };
        // Two proxies in a row are no loop, so each has a name of its own.
        let number = RandomState::new().build_hasher().finish();
        Ok(Self {
            upstream,
            client,
            response_time: times.response,
            name: format!("stratus-mock-{number:016x}"),
        })
    }

    /// Returns whether a request was sent by this proxy.
    pub(super) fn is_loop(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(header::VIA).iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let mut hops = lines.flat_map(|line| pieces(line, ','));
        hops.any(|hop| hop.split_whitespace().nth(1) == Some(self.name.as_str()))
    }

    /// Sends a request, and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// Returns the response for the caller if there is none of the server.
    pub(super) async fn send(
        &self,
        mut parts: Parts,
        body: Body,
        pulse: &Pulse,
    ) -> Result<Response, Response> {
        let Some(uri) = self.uri(&parts.uri) else {
            let message = "only requests for a path are forwarded";
            return Err(problem(StatusCode::BAD_REQUEST, message));
        };
        remove_connection_headers(&mut parts.headers);
        // The client writes its own, and has waited for nothing.
        parts.headers.remove(header::HOST);
        parts.headers.remove(header::EXPECT);
        if let Ok(via) = HeaderValue::from_str(&format!("1.1 {}", self.name)) {
            parts.headers.append(header::VIA, via);
        }
        let mut request = Request::new(body);
        *request.method_mut() = parts.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = parts.headers;
        pulse.beat();
        let sending = async {
            match &self.client {
                Sending::Plain(client) => client.request(request).await,
                Sending::Tls(client) => client.request(request).await,
            }
        };
        // Each piece of the body that is sent moves the deadline.
        let late = async {
            loop {
                let deadline = pulse.last() + self.response_time;
                if deadline <= Instant::now() {
                    return;
                }
                sleep_until(deadline).await;
            }
        };
        tokio::select! {
            sent = sending => sent
                .map(|response| response.map(Body::new))
                .map_err(|error| problem(StatusCode::BAD_GATEWAY, &self.reason(&error))),
            () = late => {
                let message = format!("{} did not respond in time", self.upstream);
                Err(problem(StatusCode::GATEWAY_TIMEOUT, &message))
            }
        }
    }

    /// Returns the URI at the server of a request, with path and query as they are.
    fn uri(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path_and_query().map_or("", PathAndQuery::as_str);
        if !path.starts_with('/') {
            return None;
        }
        Uri::builder()
            .scheme(self.upstream.scheme.clone())
            .authority(self.upstream.authority.clone())
            .path_and_query(format!("{}{path}", self.upstream.path))
            .build()
            .ok()
    }

    /// Returns why there is no response, without anything of the request.
    fn reason(&self, error: &Error) -> String {
        let mut innermost: &dyn std::error::Error = error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        if error.is_connect() {
            format!("no connection to {}: {innermost}", self.upstream)
        } else {
            format!("{} gave no response: {innermost}", self.upstream)
        }
    }
}

/// Sets up TLS with ring and the certificates that the platform trusts, as generated clients do.
fn tls() -> Result<ClientConfig, ProxyError> {
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let failed = |error: rustls::Error| ProxyError(error.to_string());
    let verifier = Verifier::new(Arc::clone(&provider)).map_err(failed)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        // rustls calls every verifier but its own dangerous; this one asks the platform.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}
