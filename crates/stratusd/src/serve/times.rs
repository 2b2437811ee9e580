//! Timeouts of connections: how long one may be idle, how long the head of a request may take to
//! arrive, and how long a caller may leave a response unread.
//!
//! The timeout of a head starts with its first byte, so that a connection may be idle between
//! requests for longer. hyper's own timeout for heads also runs between requests, and does not run
//! while hyper detects the version of HTTP.
//!
//! [`Timed`] wraps each connection in a [`TimedStream`], which sees bytes, and its service in a
//! [`TimedService`], which sees requests. They share the counts in [`Requests`]: bytes that arrive
//! while no request is open belong to the head of the next one.
//!
//! On HTTP/1, a response that is not read blocks the connection, which the stream sees. On HTTP/2,
//! it blocks only itself, while other frames come and go. There, a [`TimedBody`] hands the response
//! over in pieces and notes two times: since when hyper has not asked for the next piece, for which
//! the caller must make room, and since when a piece is not written, because the room is smaller
//! than the piece.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum_server::accept::Accept;
use futures_util::future::BoxFuture;
use http::{Request, Response, Version};
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};
use tokio_io_timeout::TimeoutStream;
use tower::Service;

/// The size of the pieces of a response on HTTP/2. Each stream can have one piece in the buffers of
/// the connection that nobody reads.
const PIECE: usize = 16 << 10;

/// An acceptor that adds timeouts to the connections that another acceptor has accepted.
///
/// With TLS, the other acceptor must be the one that does TLS: the timeouts must see decrypted
/// bytes. Otherwise a caller could keep a connection open by sending a record byte by byte.
#[derive(Debug, Clone)]
pub(super) struct Timed<A> {
    inner: A,
    head: Duration,
    idle: Duration,
}

impl<A> Timed<A> {
    /// Creates an acceptor with the timeout of the head of a request, and the timeout of an idle
    /// connection, which counts in each direction.
    pub(super) fn new(inner: A, head: Duration, idle: Duration) -> Self {
        Self { inner, head, idle }
    }
}

impl<A, I, S> Accept<I, S> for Timed<A>
where
    A: Accept<I, S, Future: Send + 'static>,
    A::Stream: AsyncRead + AsyncWrite,
{
    type Stream = TimedStream<A::Stream>;
    type Service = TimedService<A::Service>;
    type Future = BoxFuture<'static, io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let accepting = self.inner.accept(stream, service);
        let (head_timeout, idle) = (self.head, self.idle);
        Box::pin(async move {
            let (stream, service) = accepting.await?;
            let mut stream = TimeoutStream::new(stream);
            stream.set_read_timeout(Some(idle));
            stream.set_write_timeout(Some(idle));
            let requests = Arc::new(Requests::new());
            let head = HeadTimeout {
                requests: Arc::clone(&requests),
                timeout: head_timeout,
                running: None,
                timer: Box::pin(sleep(head_timeout)),
            };
            Ok((
                TimedStream {
                    stream: Box::pin(stream),
                    head,
                    idle,
                    seen: 0,
                },
                TimedService { service, requests },
            ))
        })
    }
}

/// The counts of the requests of a connection.
#[derive(Debug)]
struct Requests {
    /// The number of requests whose head has arrived.
    begun: AtomicUsize,
    /// The number of requests whose body has arrived, or is not wanted, and whose response has been
    /// sent.
    ended: AtomicUsize,
    /// The waits for the caller on HTTP/2: when each began, by its number.
    waits: Mutex<BTreeMap<u64, Instant>>,
    /// When the last request ended, or else when the connection was opened.
    idle_since: Mutex<Instant>,
    /// Whether requests are multiplexed with each other and with other frames, as in HTTP/2.
    are_multiplexed: AtomicBool,
}

impl Requests {
    fn new() -> Self {
        Self {
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            waits: Mutex::default(),
            idle_since: Mutex::new(Instant::now()),
            are_multiplexed: AtomicBool::new(false),
        }
    }

    fn end_one(&self) {
        *self
            .idle_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how long no request has been open, or `None` if one is open.
    fn idle(&self) -> Option<Duration> {
        let since = *self
            .idle_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        (!self.is_one_open()).then(|| since.elapsed())
    }

    /// Returns the number of requests whose head has arrived.
    fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// Returns the number of requests that have ended.
    fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    /// Notes that a response waits for the caller, until what this returns is dropped.
    fn begin_wait(self: &Arc<Self>) -> Wait {
        let mut waits = self.waits();
        let number = waits.last_key_value().map_or(0, |(last, _)| last + 1);
        waits.insert(number, Instant::now());
        Wait {
            requests: Arc::clone(self),
            number,
        }
    }

    /// Returns whether a response has waited for the caller for longer than a time.
    fn is_unread_for(&self, time: Duration) -> bool {
        // The first one has waited for the longest time.
        let oldest = self
            .waits()
            .first_key_value()
            .map(|(_, since)| since.elapsed());
        oldest.is_some_and(|waited| waited > time)
    }

    fn waits(&self) -> MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a request is open on HTTP/1. The caller may then be silent, as it may be
    /// waiting for the response. Always false on HTTP/2, where a caller can send other frames
    /// meanwhile.
    fn may_be_silent(&self) -> bool {
        self.is_one_open() && !self.are_multiplexed()
    }

    fn are_multiplexed(&self) -> bool {
        self.are_multiplexed.load(Ordering::Relaxed)
    }

    fn is_one_open(&self) -> bool {
        self.begun() != self.ended()
    }
}

/// An open request, which ends when the guard is dropped: when the bodies of the request and of the
/// response are.
#[derive(Debug)]
struct OpenRequest(Arc<Requests>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.end_one();
    }
}

/// A response that waits for the caller, until this is dropped.
#[derive(Debug)]
struct Wait {
    requests: Arc<Requests>,
    number: u64,
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.requests.waits().remove(&self.number);
    }
}

/// A timer that fails a connection if the head of a request (request line and headers) does not
/// arrive in time.
#[derive(Debug)]
struct HeadTimeout {
    requests: Arc<Requests>,
    timeout: Duration,
    /// While a head is arriving, the number of requests before it.
    running: Option<usize>,
    timer: Pin<Box<Sleep>>,
}

impl HeadTimeout {
    /// Starts the timeout when the first byte of a head arrives. Called for all bytes that arrive.
    fn start(&mut self) {
        let before = self.requests.begun();
        // The first head of an HTTP/2 connection has the timeout. Later ones do not: between other
        // frames, we cannot tell when a head begins.
        if !self.requests.is_one_open()
            && !self.requests.are_multiplexed()
            && self.running != Some(before)
        {
            self.running = Some(before);
            self.timer.as_mut().reset(Instant::now() + self.timeout);
        }
    }

    /// Fails if a head has not arrived in time. Called when no bytes are available.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        // A head that has arrived has become a request, and its timeout has ended.
        self.running = self
            .running
            .filter(|before| *before == self.requests.begun());
        match self.running.map(|_| self.timer.as_mut().poll(cx)) {
            Some(Poll::Ready(())) => Err(io::ErrorKind::TimedOut.into()),
            Some(Poll::Pending) | None => Ok(()),
        }
    }
}

/// A connection with timeouts.
#[derive(Debug)]
pub(super) struct TimedStream<S> {
    stream: Pin<Box<TimeoutStream<S>>>,
    head: HeadTimeout,
    /// How long the connection may be idle.
    idle: Duration,
    /// The number of ended requests when the read timeout was last set from the end of a request.
    seen: usize,
}

impl<S: AsyncRead + AsyncWrite> TimedStream<S> {
    /// Fails if the connection has been idle for too long since the last request, or if a response
    /// has been unread for too long. Otherwise sets the read timeout to the time that is left.
    fn check_idle(&mut self) -> io::Result<()> {
        let requests = &self.head.requests;
        if requests.are_multiplexed() && requests.is_unread_for(self.idle) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let Some(idle) = requests.idle() else {
            return Ok(());
        };
        let has_ended = std::mem::replace(&mut self.seen, requests.ended()) != self.seen;
        // On HTTP/2, bytes may arrive that belong to no request, such as pings. Each of them
        // restarts the read timeout, so the time without a request is checked here.
        if idle > self.idle && (has_ended || requests.are_multiplexed()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if has_ended {
            // Not the whole timeout: the request may have ended long before this read was polled.
            self.stream
                .as_mut()
                .set_read_timeout_pinned(Some(self.idle.saturating_sub(idle)));
        }
        Ok(())
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_idle()?;
        let (before, idle) = (buf.filled().len(), self.idle);
        let mut read = self.stream.as_mut().poll_read(cx, buf);
        let is_late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
        if matches!(&read, Poll::Ready(Err(error)) if is_late(error))
            && self.head.requests.may_be_silent()
        {
            // The caller may be silent while it waits for a response, however long that takes. Poll
            // again: the timeout stays expired until it is set anew and polled.
            self.stream.as_mut().set_read_timeout_pinned(Some(idle));
            read = self.stream.as_mut().poll_read(cx, buf);
        }
        match read {
            Poll::Ready(read) => {
                if buf.filled().len() > before {
                    self.head.start();
                    self.stream.as_mut().set_read_timeout_pinned(Some(idle));
                }
                Poll::Ready(read)
            }
            Poll::Pending => self
                .head
                .check(cx)
                .map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending),
        }
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
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

/// The service of a connection, which counts when requests begin and end.
#[derive(Debug, Clone)]
pub(super) struct TimedService<S> {
    service: S,
    requests: Arc<Requests>,
}

impl<S, B, C> Service<Request<B>> for TimedService<S>
where
    S: Service<Request<OpenBody<B>>, Response = Response<C>, Future: Send + 'static>,
    S::Error: Send,
{
    type Response = Response<TimedBody<C>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.requests.begun.fetch_add(1, Ordering::Relaxed);
        let is_multiplexed = request.version() == Version::HTTP_2;
        self.requests
            .are_multiplexed
            .store(is_multiplexed, Ordering::Relaxed);
        let open = Arc::new(OpenRequest(Arc::clone(&self.requests)));
        let request = request.map(|body| OpenBody {
            body,
            _open: Arc::clone(&open),
        });
        let response = self.service.call(request);
        Box::pin(async move {
            Ok(response.await?.map(|body| TimedBody {
                body,
                is_multiplexed,
                rest: Bytes::new(),
                wait: is_multiplexed.then(|| open.0.begin_wait()),
                open,
            }))
        })
    }
}

/// The body of a request, which is open until the body is dropped.
///
/// The response may be sent before the body has arrived, and then bytes that arrive are not yet the
/// next request.
#[derive(Debug)]
pub(super) struct OpenBody<B> {
    body: B,
    _open: Arc<OpenRequest>,
}

impl<B: Body + Unpin> Body for OpenBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response. The request ends when the body is dropped and its pieces are written.
#[derive(Debug)]
pub(super) struct TimedBody<B> {
    body: B,
    /// Whether the body is handed over in pieces, as on HTTP/2.
    is_multiplexed: bool,
    /// The rest of a frame that is handed over in pieces.
    rest: Bytes,
    /// The wait for the caller to make room for the next piece.
    wait: Option<Wait>,
    open: Arc<OpenRequest>,
}

/// A piece of a response, until it is written: hyper keeps what the caller has no room for.
struct Piece {
    bytes: Bytes,
    _wait: Wait,
    _open: Arc<OpenRequest>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<B: Body<Data = Bytes> + Unpin> TimedBody<B> {
    /// Returns the next piece.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return other,
            }
        }
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for TimedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if !self.is_multiplexed {
            return Pin::new(&mut self.body).poll_frame(cx);
        }
        let piece = self.poll_piece(cx);
        let Poll::Ready(Some(Ok(frame))) = piece else {
            // The handler is the one that takes its time.
            self.wait = None;
            return piece;
        };
        let open = Arc::clone(&self.open);
        self.wait = Some(open.0.begin_wait());
        let frame = frame.map_data(|bytes| {
            Bytes::from_owner(Piece {
                bytes,
                _wait: open.0.begin_wait(),
                _open: open,
            })
        });
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut size, rest) = (self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = size.upper() {
            size.set_upper(upper + rest);
        }
        size.set_lower(size.lower() + rest);
        size
    }
}
