//! The limit on the number of open connections.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum_server::accept::Accept;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// An acceptor that closes each new connection while the maximum number of connections is open. It
/// sets a gauge to the number of open connections.
#[derive(Debug, Clone)]
pub(super) struct Limited {
    permits: Arc<Semaphore>,
    open: Gauge,
}

impl Limited {
    pub(super) fn new(connections: u32, open: Gauge) -> Self {
        let permits = usize::try_from(connections)
            .unwrap_or(usize::MAX)
            .min(Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            open,
        }
    }
}

impl<S> Accept<TcpStream, S> for Limited {
    type Stream = Held;
    type Service = S;
    type Future = Ready<io::Result<(Held, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        // Close it at once instead of letting it wait: a waiting connection costs the file
        // descriptor and memory that the limit is there to save.
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return ready(Err(io::Error::other("too many connections")));
        };
        // Otherwise a small response could wait until the caller has acknowledged the one before.
        if let Err(error) = stream.set_nodelay(true) {
            return ready(Err(error));
        }
        self.open.inc();
        ready(Ok((
            Held {
                stream,
                open: self.open.clone(),
                _permit: permit,
            },
            service,
        )))
    }
}

/// A TCP connection that counts towards the limit of [`Limited`] and its gauge until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    stream: TcpStream,
    open: Gauge,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.open.dec();
    }
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Held {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
