//! Timeouts of connections: how long one may be idle, how long the head of a request may take to
//! arrive, and how long a caller may leave a response unread.
//!
//! The timeout of a head starts with its first byte, so that a connection may be idle between
//! requests for longer. hyper's own timeout for heads also runs between requests, and does not run
//! while hyper detects the version of HTTP.
//!
//! [`Timed`] wraps each connection in a [`TimedStream`], which sees bytes, and its service in a
//! [`TimedService`], which sees requests. They share the [`Activity`] of the connection: bytes that arrive
//! while no request is open belong to the head of the next one.
//!
//! On HTTP/1, a response that is not read blocks the connection, which the stream sees. On HTTP/2,
//! it blocks only itself, while other frames come and go. There, a [`TimedBody`] hands the response
//! over in pieces and notes two times: since when hyper has not asked for the next piece, for which
//! the caller must make room, and since when a piece is not written, because the room is smaller
//! than the piece.

mod activity;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum_server::accept::Accept;
use bytes::Buf;
use futures_util::future::BoxFuture;
use http::{Request, Response, Version};
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};
use tokio_io_timeout::TimeoutStream;
use tower::Service;

pub(super) use activity::{Activity, OpenRequest, Rest};

use super::connections::{Admission, Connections, Origin};
use crate::give_way::give_way;
use crate::site::Site;
use activity::{Unread, Wait};

/// The size of the pieces of a response on HTTP/2. Each stream can have one piece in the buffers of
/// the connection that nobody reads.
const PIECE: usize = 16 << 10;

/// An acceptor that limits the number of connections, and adds timeouts to those that another acceptor has
/// accepted.
///
/// With TLS, the other acceptor must be the one that does TLS: the timeouts must see decrypted
/// bytes. Otherwise a caller could keep a connection open by sending a record byte by byte.
#[derive(Debug, Clone)]
pub(super) struct Timed<A> {
    inner: A,
    connections: Connections,
    head: Duration,
    idle: Duration,
}

impl<A> Timed<A> {
    /// Creates an acceptor with the timeout of the head of a request, and the timeout of an idle
    /// connection, which counts in each direction.
    pub(super) fn new(inner: A, connections: Connections, head: Duration, idle: Duration) -> Self {
        Self {
            inner,
            connections,
            head,
            idle,
        }
    }
}

impl<A, I, S> Accept<I, S> for Timed<A>
where
    I: Origin,
    A: Accept<I, S, Future: Send + 'static>,
    A::Stream: AsyncRead + AsyncWrite,
{
    type Stream = TimedStream<A::Stream>;
    type Service = TimedService<A::Service>;
    type Future = BoxFuture<'static, io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let (head_timeout, idle) = (self.head, self.idle);
        let activity = Arc::new(Activity::new());
        let admitted = stream.peer().map(Site::from).and_then(|site| {
            let admission = self.connections.admit(site, &activity)?;
            Ok((site, admission))
        });
        let (site, admission) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return Box::pin(async { Err(error) }),
        };
        let accepting = self.inner.accept(stream, service);
        Box::pin(async move {
            let (stream, service) = tokio::select! {
                accepted = accepting => accepted?,
                () = poll_fn(|cx| activity.poll_closed(cx)) => return Err(closed()),
            };
            let mut stream = TimeoutStream::new(stream);
            stream.set_read_timeout(Some(idle));
            stream.set_write_timeout(Some(idle));
            let head = HeadTimeout {
                activity: Arc::clone(&activity),
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
                    is_blocked: false,
                    _admission: admission,
                },
                TimedService {
                    service,
                    activity,
                    site,
                },
            ))
        })
    }
}

/// A timer that fails a connection if the head of a request (request line and headers) does not
/// arrive in time.
#[derive(Debug)]
struct HeadTimeout {
    activity: Arc<Activity>,
    timeout: Duration,
    /// While a head is arriving, the number of requests before it.
    running: Option<usize>,
    timer: Pin<Box<Sleep>>,
}

impl HeadTimeout {
    /// Starts the timeout when the first byte of a head arrives. Called for all bytes that arrive.
    fn start(&mut self) {
        let before = self.activity.begun();
        // The first head of an HTTP/2 connection has the timeout. Later ones do not: between other
        // frames, we cannot tell when a head begins.
        if !self.activity.is_one_open()
            && !self.activity.are_multiplexed()
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
            .filter(|before| *before == self.activity.begun());
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
    /// Whether bytes wait to be sent until the caller reads those before them.
    is_blocked: bool,
    /// After the stream, so that it counts until the stream is closed.
    _admission: Admission,
}

impl<S: AsyncRead + AsyncWrite> TimedStream<S> {
    /// Fails if the connection has been idle for too long since the last request, or if a response
    /// has been unread for too long. Otherwise sets the read timeout to the time that is left.
    fn check_idle(&mut self) -> io::Result<()> {
        let activity = &self.head.activity;
        if activity.are_multiplexed() && activity.is_unread_for(self.idle) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let Some(idle) = activity.idle() else {
            return Ok(());
        };
        let has_ended = std::mem::replace(&mut self.seen, activity.ended()) != self.seen;
        // On HTTP/2, bytes may arrive that belong to no request, such as pings. Each of them
        // restarts the read timeout, so the time without a request is checked here.
        if idle > self.idle && (has_ended || activity.are_multiplexed()) {
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
        ensure_open(&self.head.activity, cx)?;
        self.check_idle()?;
        let (before, idle) = (buf.filled().len(), self.idle);
        let mut read = self.stream.as_mut().poll_read(cx, buf);
        let is_late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
        if matches!(&read, Poll::Ready(Err(error)) if is_late(error))
            && self.head.activity.may_be_silent()
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

impl<S> TimedStream<S> {
    /// Notes that bytes were sent, or that they wait.
    fn note_written<T>(&mut self, written: Poll<T>) -> Poll<T> {
        if written.is_ready() {
            self.head.activity.note_sent();
        }
        self.note(written)
    }

    /// Notes whether the caller has made room for what is to be written.
    fn note<T>(&mut self, written: Poll<T>) -> Poll<T> {
        let is_blocked = written.is_pending();
        if is_blocked != self.is_blocked {
            self.is_blocked = is_blocked;
            self.head.activity.note_blocked(is_blocked);
        }
        written
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ensure_open(&self.head.activity, cx)?;
        let written = self.stream.as_mut().poll_write(cx, buf);
        self.note_written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ensure_open(&self.head.activity, cx)?;
        let written = self.stream.as_mut().poll_write_vectored(cx, bufs);
        self.note_written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ensure_open(&self.head.activity, cx)?;
        let flushed = self.stream.as_mut().poll_flush(cx);
        self.note(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ensure_open(&self.head.activity, cx)?;
        self.stream.as_mut().poll_shutdown(cx)
    }
}

/// Fails if the connection is to be closed for another one.
fn ensure_open(activity: &Activity, cx: &Context<'_>) -> io::Result<()> {
    match activity.poll_closed(cx) {
        Poll::Ready(()) => Err(closed()),
        Poll::Pending => Ok(()),
    }
}

fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "closed for another connection",
    )
}

/// The service of a connection, which counts when requests begin and end.
#[derive(Debug, Clone)]
pub(super) struct TimedService<S> {
    service: S,
    activity: Arc<Activity>,
    site: Site,
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

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let is_multiplexed = request.version() == Version::HTTP_2;
        let Some(open) = self.activity.begin(is_multiplexed) else {
            // The connection is about to end, with this request.
            return Box::pin(async { match pending::<Infallible>().await {} });
        };
        let open = Arc::new(open);
        request.extensions_mut().insert(self.site);
        let request = request.map(|body| OpenBody {
            body,
            open: Arc::clone(&open),
            wait: None,
            moved: PIECE,
        });
        let response = self.service.call(request);
        Box::pin(async move {
            let response = response.await?;
            // Requests that come one after the other may keep this thread busy.
            give_way();
            Ok(response.map(|body| TimedBody {
                body,
                is_multiplexed,
                rest: Bytes::new(),
                wait: is_multiplexed.then(|| open.await_reader()),
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
    open: Arc<OpenRequest>,
    /// The wait for the caller to send more.
    wait: Option<Wait>,
    /// The bytes that have arrived since that was last noted. Before the first wait, enough to be noted.
    moved: usize,
}

impl<B: Body + Unpin> Body for OpenBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if polled.is_pending() {
            if self.wait.is_none() {
                let has_moved = self.moved >= PIECE;
                self.wait = Some(self.open.await_body(has_moved));
                if has_moved {
                    self.moved = 0;
                }
            }
            return Poll::Pending;
        }
        if self.wait.take().is_some_and(|wait| !wait.end()) {
            // The connection is about to end, with this request.
            return Poll::Pending;
        }
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.moved += frame.data_ref().map_or(0, Buf::remaining);
        }
        polled
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
    wait: Option<Unread>,
    open: Arc<OpenRequest>,
}

/// A piece of a response, until it is written: hyper keeps what the caller has no room for.
struct Piece {
    bytes: Bytes,
    _wait: Unread,
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
        self.wait = Some(open.await_reader());
        let frame = frame.map_data(|bytes| {
            Bytes::from_owner(Piece {
                bytes,
                _wait: open.await_reader(),
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
