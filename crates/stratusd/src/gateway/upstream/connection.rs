//! Connections to the upstream, each of which ends once the upstream has taken nothing for a time of what
//! is sent to it, and keeps no local port when it has ended.
//!
//! An upstream may respond without reading the body of the request. hyper then goes on sending the body, and
//! nobody waits for that any more.

use std::error::Error as StdError;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;
use tower::Service;

/// A connector whose connections end if nothing can be sent for a time.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    pub(super) connector: HttpConnector,
    /// How long nothing may be taken of what is sent.
    pub(super) stall: Duration,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = Box<dyn StdError + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, stall) = (self.connector.call(uri), self.stall);
        Box::pin(async move {
            let stream = connecting.await?.into_inner();
            // A connection that ends before its response, since the caller is gone, would otherwise keep its
            // local port for a minute, of which there are some 28,000 towards one upstream.
            stream.set_zero_linger()?;
            let mut stream = TimeoutStream::new(stream);
            stream.set_write_timeout(Some(stall));
            Ok(TokioIo::new(Stream(Box::pin(stream))))
        })
    }
}

/// A connection. Its writes fail once none has got on for a time.
#[derive(Debug)]
pub(super) struct Stream(Pin<Box<TimeoutStream<TcpStream>>>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.0.get_ref().connected()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(cx)
    }

    /// Does nothing: the connection ends when it is dropped.
    ///
    /// If it told the upstream first, an upstream that answers at once would end the connection in order
    /// before the drop resets it, and its local port would be kept after all.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
