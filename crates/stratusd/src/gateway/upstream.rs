//! The server that requests are forwarded to.

mod connection;

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{Result, bail};
use axum::body::Body;
use futures_util::future::BoxFuture;
use http::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{sleep, timeout};
use tower::Service;

use super::body::{Upload, UploadState};
use super::error::GatewayError;
use crate::settings::UpstreamUrl;
use connection::Connector;

/// How long a connection to the upstream is kept for another request. Shorter than the 5 seconds for
/// which many servers keep one: a request on a connection that the server is closing fails.
const KEEP: Duration = Duration::from_secs(4);
/// The maximum number of connections that are kept for another request.
pub(super) const MOST_KEPT: usize = 64;
/// The maximum size of the head of a response, in bytes.
const MOST_HEAD: usize = 128 << 10;

/// How long the gateway waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// For a connection to the upstream, with TLS.
    pub(super) connect: Duration,
    /// For the body of a request, and for the upstream to take the next bytes of it.
    pub(super) body: Duration,
    /// For the head of a response, once the request is sent.
    pub(super) response: Duration,
    /// For the next bytes of a response.
    pub(super) idle: Duration,
}

/// The upstream, with the connections to it.
pub(super) struct Upstream {
    url: UpstreamUrl,
    client: Client<Timely<HttpsConnector<Connector>>, Upload>,
    times: Times,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upstream({})", self.url)
    }
}

impl Upstream {
    /// Sets up the connections to an upstream, without opening one.
    ///
    /// # Errors
    ///
    /// If it needs TLS, and the system trusts no authority.
    pub(super) fn new(url: UpstreamUrl, times: Times) -> Result<Self> {
        let mut connector = HttpConnector::new();
        // It is below the one for TLS too, which leaves `https` in the address.
        connector.enforce_http(false);
        connector.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(&url)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector {
                connector,
                stall: times.body,
            });
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEEP)
            .pool_max_idle_per_host(MOST_KEPT)
            .http1_max_buf_size(MOST_HEAD)
            .build(Timely {
                connector,
                time: times.connect,
            });
        Ok(Self { url, client, times })
    }

    /// Returns how long the gateway waits.
    pub(super) fn times(&self) -> Times {
        self.times
    }

    /// Returns the URI at the upstream of what follows `/v1` in the path of a request.
    pub(super) fn uri(&self, rest: &str) -> Option<Uri> {
        self.url.join(rest)
    }

    /// Sends a request, and waits for the head of the response. A request that is dropped before is
    /// cancelled.
    ///
    /// # Errors
    ///
    /// If the request could not be sent as a whole, or there is no response in time.
    pub(super) async fn send(
        &self,
        request: Request<Upload>,
        state: &UploadState,
    ) -> Result<Response<Body>, GatewayError> {
        // The time for the response begins once the request is sent, or must have been: an upstream
        // that does not read the body does not prolong it.
        let late = async {
            let _ = timeout(self.times.body, state.until_sent()).await;
            sleep(self.times.response).await;
        };
        tokio::select! {
            sent = self.client.request(request) => match sent {
                Ok(response) => Ok(response.map(Body::new)),
                Err(error) => Err(self.reason(&error, state)),
            },
            () = late => Err(GatewayError::Timeout),
        }
    }

    /// Returns why there is no response, and logs it if the reason is the upstream.
    fn reason(&self, error: &Error, state: &UploadState) -> GatewayError {
        if let Some(failure) = state.failure() {
            return failure;
        }
        let mut innermost: &(dyn StdError + 'static) = error;
        let mut is_late = false;
        while let Some(source) = innermost.source() {
            innermost = source;
            let late = innermost.downcast_ref::<io::Error>();
            is_late |= late.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
        }
        // The innermost error alone: it is about the connection, and has nothing of the request.
        tracing::warn!(upstream = %self.url, error = %innermost, "a request could not be forwarded");
        match (error.is_connect(), is_late) {
            (true, true) => GatewayError::Timeout,
            (true, false) => GatewayError::Unreachable,
            (false, _) => GatewayError::NoResponse,
        }
    }
}

/// Returns the settings of TLS: the upstream's certificate must be for its host, and issued by an
/// authority that the system trusts.
fn tls(url: &UpstreamUrl) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if url.is_https() {
        // A system may hold outdated certificates that cannot be parsed.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            bail!(
                "gateway_upstream needs TLS, and the system trusts no certificate authority: install its certificates, or name a file of them in SSL_CERT_FILE"
            );
        }
    }
    // Not the default provider of the process, which is only installed when the API is served with
    // TLS.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// A connector that gives up after a time. hyper's own timeout does not include TLS.
#[derive(Debug, Clone)]
struct Timely<C> {
    connector: C,
    time: Duration,
}

impl<C> Service<Uri> for Timely<C>
where
    C: Service<Uri, Error = Box<dyn StdError + Send + Sync>, Future: Send + 'static>,
    C::Response: 'static,
{
    type Response = C::Response;
    type Error = C::Error;
    type Future = BoxFuture<'static, Result<C::Response, C::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = timeout(self.time, self.connector.call(uri));
        Box::pin(async move {
            match connecting.await {
                Ok(connected) => connected,
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        })
    }
}
