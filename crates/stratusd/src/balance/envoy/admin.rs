//! The admin interface of Envoy, which listens on a Unix socket in the folder: nobody else reaches it.

use std::fmt;
use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::body::{Body, Bytes, to_bytes};
use futures_util::future::BoxFuture;
use http::{Request, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tower::Service;

/// How long Envoy may take for a response.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum size of a response, in bytes. A virtual machine takes about 1 KiB of it.
const MAX_SIZE: usize = 128 << 20;

/// A client of the admin interface.
pub(super) struct Admin(Client<Connector, Body>);

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}

impl Admin {
    /// Creates a client for the socket at a path, without connecting.
    pub(super) fn new(socket: PathBuf) -> Self {
        // Without a kept connection, so that an Envoy that is started again is found at once.
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(Connector(socket));
        Self(client)
    }

    /// Asks for a page in JSON.
    ///
    /// # Errors
    ///
    /// If there is no response in time, or it is not what is expected.
    pub(super) async fn ask<T: DeserializeOwned>(&self, page: &str) -> Result<T> {
        let asked = timeout(PATIENCE, self.body(page)).await;
        let body = asked.context("it does not respond in time")??;
        serde_json::from_slice(&body).with_context(|| format!("the page {page} is not as expected"))
    }

    async fn body(&self, page: &str) -> Result<Bytes> {
        let uri: Uri = format!("http://envoy{page}").parse()?;
        let request = Request::get(uri).body(Body::empty())?;
        let response = self.0.request(request).await?;
        if response.status() != StatusCode::OK {
            bail!("the page {page} has the status {}", response.status());
        }
        let body = to_bytes(Body::new(response.into_body()), MAX_SIZE).await;
        body.with_context(|| format!("the page {page} is cut off, or too large"))
    }
}

/// Connects to the Unix socket at a path. The URI of a request names only a page.
#[derive(Debug, Clone)]
struct Connector(PathBuf);

impl Service<Uri> for Connector {
    type Response = TokioIo<UnixStream>;
    type Error = std::io::Error;
    type Future = BoxFuture<'static, std::io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let socket = self.0.clone();
        Box::pin(async move { UnixStream::connect(socket).await.map(TokioIo::new) })
    }
}
