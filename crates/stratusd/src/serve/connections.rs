//! Connections: how many there may be, and how long they may stand still.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum_server::accept::Accept;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;

/// Accepts up to a number of connections, each with a time after which it may not stand still any more.
#[derive(Debug, Clone)]
pub(super) struct Limited {
    permits: Arc<Semaphore>,
    idle: Duration,
    open: Gauge,
}

impl Limited {
    pub(super) fn new(connections: u32, idle: Duration, open: Gauge) -> Self {
        let permits = usize::try_from(connections).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(permits)), idle, open }
    }
}

impl<S> Accept<TcpStream, S> for Limited {
    type Stream = Held;
    type Service = S;
    type Future = Ready<io::Result<(Held, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        // One too many is closed at once: to keep it waiting would cost what the limit is there to save.
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return ready(Err(io::Error::other("too many connections")));
        };
        if let Err(error) = stream.set_nodelay(true) {
            return ready(Err(error));
        }
        let mut stream = TimeoutStream::new(stream);
        stream.set_read_timeout(Some(self.idle));
        stream.set_write_timeout(Some(self.idle));
        self.open.inc();
        ready(Ok((Held { stream: Box::pin(stream), open: self.open.clone(), _permit: permit }, service)))
    }
}

/// A connection that counts while it is open.
#[derive(Debug)]
pub(super) struct Held {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    open: Gauge,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.open.dec();
    }
}

impl AsyncRead for Held {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(cx, buf)
    }
}

impl AsyncWrite for Held {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(cx)
    }
}
