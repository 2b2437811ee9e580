//! Times of connections: how long one may stand still, and how long the head of a request may take.
//!
//! The time of a head begins with its first byte, so that a connection may rest between requests. hyper's own time for
//! heads runs between them too, and does not run while it finds out which HTTP is spoken.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum_server::accept::Accept;
use futures_util::future::BoxFuture;
use http::{Request, Response, Version};
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};
use tokio_io_timeout::TimeoutStream;
use tower::Service;

/// Gives the connections that another acceptor has accepted their times. Under TLS they belong inside of it, where a
/// record that arrives byte by byte is silence.
#[derive(Debug, Clone)]
pub(super) struct Timed<A> {
    inner: A,
    head: Duration,
    idle: Duration,
}

impl<A> Timed<A> {
    /// The time for the head of a request, and the time that a connection may stand still in either direction.
    pub(super) fn new(inner: A, head: Duration, idle: Duration) -> Self {
        Self { inner, head, idle }
    }
}

impl<A, I, S> Accept<I, S> for Timed<A>
where
    A: Accept<I, S, Future: Send + 'static>,
    A::Stream: AsyncRead + AsyncWrite,
{
    type Stream = Watched<A::Stream>;
    type Service = Watching<A::Service>;
    type Future = BoxFuture<'static, io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let accepting = self.inner.accept(stream, service);
        let (head, idle) = (self.head, self.idle);
        Box::pin(async move {
            let (stream, service) = accepting.await?;
            let mut stream = TimeoutStream::new(stream);
            stream.set_read_timeout(Some(idle));
            stream.set_write_timeout(Some(idle));
            let requests = Arc::new(Requests::new());
            let clock = Clock {
                requests: Arc::clone(&requests),
                head,
                running: None,
                timer: Box::pin(sleep(head)),
            };
            Ok((
                Watched {
                    stream: Box::pin(stream),
                    clock,
                    idle,
                    seen: 0,
                },
                Watching { service, requests },
            ))
        })
    }
}

/// The requests of a connection: what arrives while none is open belongs to the next one's head.
#[derive(Debug)]
struct Requests {
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// When the last one ended, or the connection began.
    resting: Mutex<Instant>,
    /// Whether they come mixed with each other and with other frames, as those of HTTP/2 do.
    are_mixed: AtomicBool,
}

impl Requests {
    fn new() -> Self {
        Self {
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            resting: Mutex::new(Instant::now()),
            are_mixed: AtomicBool::new(false),
        }
    }

    fn end_one(&self) {
        *self.resting.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// How long there has been none, unless one is open.
    fn rested(&self) -> Option<Duration> {
        let resting = *self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.is_one_open()).then(|| resting.elapsed())
    }

    /// How many heads have arrived.
    fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// How many have got their answer.
    fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether whoever reads waits for an answer, not for a request.
    fn is_one_answered(&self) -> bool {
        self.is_one_open() && !self.are_mixed()
    }

    fn are_mixed(&self) -> bool {
        self.are_mixed.load(Ordering::Relaxed)
    }

    fn is_one_open(&self) -> bool {
        self.begun() != self.ended()
    }
}

/// A request that ends when this is dropped.
#[derive(Debug)]
struct Open(Arc<Requests>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.end_one();
    }
}

/// The time of the head that arrives.
#[derive(Debug)]
struct Clock {
    requests: Arc<Requests>,
    head: Duration,
    /// The number of requests before the one whose head arrives.
    running: Option<usize>,
    timer: Pin<Box<Sleep>>,
}

impl Clock {
    /// Bytes have arrived.
    fn start(&mut self) {
        let before = self.requests.begun();
        // Where they are mixed, heads are not told apart from other frames after the first one.
        if !self.requests.is_one_open()
            && !self.requests.are_mixed()
            && self.running != Some(before)
        {
            self.running = Some(before);
            self.timer.as_mut().reset(Instant::now() + self.head);
        }
    }

    /// Nothing has arrived; fails once a head has taken too long.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.running = self
            .running
            .filter(|before| *before == self.requests.begun());
        match self.running.map(|_| self.timer.as_mut().poll(cx)) {
            Some(Poll::Ready(())) => Err(io::ErrorKind::TimedOut.into()),
            Some(Poll::Pending) | None => Ok(()),
        }
    }
}

/// A connection that has its times.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: Pin<Box<TimeoutStream<S>>>,
    clock: Clock,
    /// How long it may stand still.
    idle: Duration,
    /// How many requests had ended when that time was last counted from such an end.
    seen: usize,
}

impl<S: AsyncRead + AsyncWrite> Watched<S> {
    /// A rest begins when the request before it ends. Fails where it has lasted too long among frames that are of no
    /// request, such as HTTP/2's pings.
    fn rest(&mut self) -> io::Result<()> {
        let requests = &self.clock.requests;
        let Some(rested) = requests.rested() else {
            return Ok(());
        };
        let is_new = std::mem::replace(&mut self.seen, requests.ended()) != self.seen;
        if rested > self.idle && (is_new || requests.are_mixed()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if is_new {
            // Nobody need have looked when the request ended.
            self.stream
                .as_mut()
                .set_read_timeout_pinned(Some(self.idle.saturating_sub(rested)));
        }
        Ok(())
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.rest()?;
        let (before, idle) = (buf.filled().len(), self.idle);
        let mut read = self.stream.as_mut().poll_read(cx, buf);
        let is_late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
        if matches!(&read, Poll::Ready(Err(error)) if is_late(error))
            && self.clock.requests.is_one_answered()
        {
            // A caller that waits for its answer need not say anything. Looked at again, its time begins anew.
            self.stream.as_mut().set_read_timeout_pinned(Some(idle));
            read = self.stream.as_mut().poll_read(cx, buf);
        }
        match read {
            Poll::Ready(read) => {
                if buf.filled().len() > before {
                    self.clock.start();
                    self.stream.as_mut().set_read_timeout_pinned(Some(idle));
                }
                Poll::Ready(read)
            }
            Poll::Pending => self
                .clock
                .check(cx)
                .map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending),
        }
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncWrite for Watched<S> {
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

/// The service of one connection, which tells the connection when requests begin and end.
#[derive(Debug, Clone)]
pub(super) struct Watching<S> {
    service: S,
    requests: Arc<Requests>,
}

impl<S, B, C> Service<Request<B>> for Watching<S>
where
    S: Service<Request<B>, Response = Response<C>, Future: Send + 'static>,
    S::Error: Send,
{
    type Response = Response<Answer<C>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.requests.begun.fetch_add(1, Ordering::Relaxed);
        self.requests
            .are_mixed
            .store(request.version() == Version::HTTP_2, Ordering::Relaxed);
        let open = Open(Arc::clone(&self.requests));
        let answering = self.service.call(request);
        Box::pin(async move { Ok(answering.await?.map(|body| Answer { body, _open: open })) })
    }
}

/// The body of an answer; with it ends the request.
#[derive(Debug)]
pub(super) struct Answer<B> {
    body: B,
    _open: Open,
}

impl<B: Body + Unpin> Body for Answer<B> {
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
