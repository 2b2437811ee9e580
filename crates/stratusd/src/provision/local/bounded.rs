//! A stream of which a bounded number of bytes is read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that fails once more than a number of bytes is read from it.
#[derive(Debug)]
pub(super) struct Bounded<S> {
    stream: S,
    /// How many bytes may still be read.
    left: u64,
}

impl<S> Bounded<S> {
    /// Lets at most `most` bytes be read from a stream.
    pub(super) fn new(stream: S, most: u64) -> Self {
        Self { stream, left: most }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = u64::try_from(buffer.filled().len() - before).unwrap_or(u64::MAX);
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Err(io::Error::other("the server sends too much"))),
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
