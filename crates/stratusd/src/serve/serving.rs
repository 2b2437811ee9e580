//! The servers of the API, of the gateway and of a provisioner: their limits, and how they stop.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum_server::accept::NoDelayAcceptor;
use axum_server::{Handle, Server};
use hyper_util::rt::TokioTimer;
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::accept::{Accepting, Peer};
use super::connections::Connections;
use super::listen::listen;
use super::management::Health;
use super::times::Timed;
use super::tls::Tls;
use crate::settings::{ListenerSettings, Switch};

/// The number of bytes by which the head of a request may exceed `header_limit` and still get a
/// response with the contract's error body. Beyond that, hyper rejects the request without a body.
/// Unauthenticated callers can use this memory.
const HEAD_MARGIN: usize = 64 << 10;

/// The maximum number of concurrent requests (streams) on an HTTP/2 connection. Streams cost memory
/// before a token is checked; RFC 9113 recommends no fewer than 100.
const STREAMS: u32 = 100;
/// The maximum number of streams of an HTTP/2 connection that the caller has reset before the
/// service accepted them, and of streams that the service has reset because of errors of the
/// caller. One more closes the connection.
const RESET_STREAMS: usize = 50;
/// The maximum number of bytes of one request body that an HTTP/2 caller may send before the
/// service reads them.
const STREAM_WINDOW: u32 = 64 << 10;
/// The maximum number of bytes of all request bodies of an HTTP/2 connection together that a caller
/// may send before the service reads them. Unauthenticated callers can use this memory.
const CONNECTION_WINDOW: u32 = 128 << 10;
/// The maximum number of bytes of a response that are buffered for an HTTP/2 stream.
const SEND_BUFFER: usize = 64 << 10;

/// Without a delay, or a small response could wait until the caller has acknowledged the one before.
pub(super) const NO_DELAY: NoDelayAcceptor = NoDelayAcceptor;

/// The running server of the API, or of the gateway.
pub(super) struct Serving {
    address: SocketAddr,
    scheme: &'static str,
    handle: Handle<Peer>,
    server: JoinHandle<io::Result<()>>,
}

impl Serving {
    /// Starts a server on a bound socket, with TLS if `tls` is `Some`.
    pub(super) fn start(
        settings: &ListenerSettings,
        socket: TcpSocket,
        router: Router,
        tls: Option<&Tls>,
        connections: Connections,
        health: &Health,
    ) -> Result<Self> {
        let listener = listen(socket)?;
        let (address, handle) = (listener.local_addr()?, Handle::new());
        let listener = Accepting::new(listener, health.accept_failures())?;
        let (head, idle) = (settings.header_timeout.get(), settings.idle_timeout.get());
        let server = Server::from_listener(listener).handle(handle.clone());
        let service = router.into_make_service();
        let (scheme, server) = if let Some(tls) = tls {
            let acceptor = tls.acceptor(head).acceptor(NO_DELAY);
            let acceptor = Timed::new(acceptor, connections, head, idle);
            let server = with_limits(server.acceptor(acceptor), settings);
            ("https", tokio::spawn(server.serve(service)))
        } else {
            let acceptor = Timed::new(NO_DELAY, connections, head, idle);
            let server = with_limits(server.acceptor(acceptor), settings);
            ("http", tokio::spawn(server.serve(service)))
        };
        Ok(Self {
            address,
            scheme,
            handle,
            server,
        })
    }

    /// Prints the addresses of the API, of the management port and of the gateway, if there is one,
    /// to standard output, and logs them.
    pub(super) fn announce(&self, management: SocketAddr, gateway: Option<&Self>) {
        let Self {
            address, scheme, ..
        } = self;
        // Scripts read this line, for the ports that the kernel has chosen.
        // The gateway comes last, so that scripts which do not know it find the others.
        let last = gateway.map(|it| format!(", gateway on {}://{}", it.scheme, it.address));
        let last = last.unwrap_or_default();
        crate::announce::announce(format!(
            "serving {scheme}://{address}, health and metrics on http://{management}{last}\n"
        ));
        let gateway = gateway.map(|gateway| tracing::field::display(gateway.address));
        tracing::info!(api = %address, %management, gateway, "serving");
    }

    /// Returns the URL that the server listens on.
    #[cfg_attr(
        not(feature = "provisioners"),
        expect(dead_code, reason = "it is for the process of a provisioner")
    )]
    pub(super) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Serves until `stop` is cancelled. Then makes the service not ready, accepts no more
    /// connections, and lets the requests in progress finish for at most `grace`.
    ///
    /// # Errors
    ///
    /// If the server fails, panics, or ends before `stop` is cancelled, which it then cancels.
    pub(super) async fn until(
        mut self,
        stop: &CancellationToken,
        health: &Health,
        grace: Duration,
    ) -> Result<()> {
        let ended = tokio::select! {
            () = stop.cancelled() => None,
            ended = &mut self.server => Some(ended),
        };
        // Not ready before the listener closes, so that a load balancer sends its requests
        // elsewhere.
        health.stop();
        let ended = if let Some(ended) = ended {
            // The other server stops too.
            stop.cancel();
            ended.map(|ended| {
                ended.and_then(|()| Err(io::Error::other("it stopped without a signal")))
            })
        } else {
            tracing::info!(
                "stopping: finishing the requests in progress, accepting no more connections"
            );
            self.handle.graceful_shutdown(Some(grace));
            self.server.await
        };
        match ended {
            Ok(served) => served.context("the listener failed"),
            Err(_) => bail!("the server panicked"),
        }
    }
}

/// Sets the limits of hyper on sizes and HTTP/2 streams, and the versions of HTTP. hyper's timeout of
/// request heads is disabled, because [`Timed`] replaces it.
///
/// The server must have its acceptor, since [`Server::acceptor`] allows all versions again.
fn with_limits<A>(mut server: Server<Peer, A>, settings: &ListenerSettings) -> Server<Peer, A> {
    if settings.http2 == Switch::Off {
        server = server.http1_only();
    }
    let bytes = settings.header_limit.get() + HEAD_MARGIN;
    let builder = server.http_builder();
    builder
        .http1()
        // hyper's timeout also runs between requests, when a connection may be idle for longer.
        // `Timed` replaces it.
        .header_read_timeout(None)
        .max_buf_size(bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(bytes).unwrap_or(u32::MAX))
        // On HTTP/2, `Timed` closes a connection on which no bytes arrive, even while a response is
        // awaited. The acknowledgements of these pings keep it open, so they must be more frequent
        // than the timeout.
        .keep_alive_interval(settings.idle_timeout.get() / 2)
        .max_concurrent_streams(STREAMS)
        .max_pending_accept_reset_streams(RESET_STREAMS)
        .max_local_error_reset_streams(RESET_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER);
    server
}
