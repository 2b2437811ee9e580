//! Copies bytes between two connections, in both directions at once.
//!
//! Not tokio's `copy_bidirectional`: that has no time limit for a connection on which nothing is sent,
//! and holds two buffers for each connection. Here a connection holds bytes only while one side does
//! not take what the other has sent.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

/// The number of bytes that are read at once, and so the maximum that a connection holds in each
/// direction. As much as HAProxy has by default.
pub(super) const CHUNK: usize = 16 << 10;

thread_local! {
    /// What is read before it is written. Each poll writes it, or keeps the rest itself.
    static SCRATCH: RefCell<Box<[u8; CHUNK]>> = RefCell::new(Box::new([0; CHUNK]));
}

/// Copies bytes between two connections until both have ended. When one side has ended its half, the
/// other side gets the end after all bytes, and may go on sending.
///
/// # Errors
///
/// If a side cannot be read, or nothing is sent in either direction for the time `idle`.
pub(super) async fn relay<A, B>(a: &mut A, b: &mut B, idle: Duration) -> io::Result<()>
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let (mut forth, mut back) = (Direction::default(), Direction::default());
    let rest = sleep_until(Instant::now() + idle);
    tokio::pin!(rest);
    // Whether anything was sent since the timer was set. The time itself is not taken for each
    // chunk: a connection is closed after one to two times the limit at most.
    let mut was_used = false;
    poll_fn(|cx| {
        loop {
            // `&` and not `&&`, so that both directions go on at each poll.
            let ended = forth.poll(cx, a, b)?.is_ready() & back.poll(cx, b, a)?.is_ready();
            was_used |= std::mem::take(&mut forth.was_used) | std::mem::take(&mut back.was_used);
            if ended {
                return Poll::Ready(Ok(()));
            }
            ready!(rest.as_mut().poll(cx));
            if !std::mem::take(&mut was_used) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            rest.as_mut().reset(Instant::now() + idle);
        }
    })
    .await
}

/// The bytes from one side to the other.
#[derive(Default)]
struct Direction {
    /// What was read and is not written yet.
    left: Vec<u8>,
    /// How many bytes of it are written.
    written: usize,
    is_flushed: bool,
    state: State,
    was_used: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The side that is read has not ended.
    #[default]
    Open,
    /// It has ended, and the other side does not know yet.
    Ending,
    Ended,
}

impl Direction {
    /// Copies what is there. Ready when the side that is read has ended and the other one knows.
    ///
    /// # Errors
    ///
    /// If `from` cannot be read. A side that takes nothing any more ends the direction without an
    /// error: it may still be sending.
    fn poll<R, W>(&mut self, cx: &mut Context<'_>, from: &mut R, to: &mut W) -> Poll<io::Result<()>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        if self.state == State::Ended {
            return Poll::Ready(Ok(()));
        }
        match ready!(self.poll_copy(cx, from, to)) {
            Ok(()) => {}
            Err(Failure::Read(error)) => return Poll::Ready(Err(error)),
            Err(Failure::Write) => self.left = Vec::new(),
        }
        self.state = State::Ended;
        Poll::Ready(Ok(()))
    }

    fn poll_copy<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        to: &mut W,
    ) -> Poll<Result<(), Failure>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        loop {
            while self.written < self.left.len() {
                let rest = &self.left[self.written..];
                self.written += ready!(write(cx, to, rest))?;
                self.was_used = true;
            }
            if !self.left.is_empty() {
                // The memory too: a connection that rests holds none.
                (self.left, self.written) = (Vec::new(), 0);
            }
            if self.state == State::Ending {
                let shut = ready!(Pin::new(&mut *to).poll_shutdown(cx));
                return Poll::Ready(shut.map_err(|_| Failure::Write));
            }
            match self.poll_chunk(cx, from, to) {
                Poll::Ready(Ok(0)) => self.state = State::Ending,
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    if !self.is_flushed {
                        let flushed = ready!(Pin::new(&mut *to).poll_flush(cx));
                        flushed.map_err(|_| Failure::Write)?;
                        self.is_flushed = true;
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    /// Reads a chunk and writes it as far as it is taken. Returns its size, 0 at the end.
    fn poll_chunk<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        to: &mut W,
    ) -> Poll<Result<usize, Failure>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut chunk = ReadBuf::new(&mut scratch[..]);
            let read = ready!(Pin::new(from).poll_read(cx, &mut chunk));
            read.map_err(Failure::Read)?;
            let chunk = chunk.filled();
            if chunk.is_empty() {
                return Poll::Ready(Ok(0));
            }
            (self.was_used, self.is_flushed) = (true, false);
            let written = match write(cx, to, chunk) {
                Poll::Ready(written) => written?,
                Poll::Pending => 0,
            };
            self.left.extend_from_slice(&chunk[written..]);
            Poll::Ready(Ok(chunk.len()))
        })
    }
}

/// Why a direction ends.
enum Failure {
    Read(io::Error),
    Write,
}

fn write<W>(cx: &mut Context<'_>, to: &mut W, bytes: &[u8]) -> Poll<Result<usize, Failure>>
where
    W: AsyncWrite + Unpin,
{
    match ready!(Pin::new(to).poll_write(cx, bytes)) {
        Ok(0) | Err(_) => Poll::Ready(Err(Failure::Write)),
        Ok(written) => Poll::Ready(Ok(written)),
    }
}
