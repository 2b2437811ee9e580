//! The bodies of requests and responses, which the gateway passes on as they arrive. It never holds a
//! whole one.

use std::any::Any;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use http_body::{Body as HttpBody, Frame};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::error::GatewayError;

/// The bytes that are received of a body which nobody wants, so that its caller reads the response
/// instead of an error of the connection.
const MOST_DISCARDED: usize = 4 << 20;
/// How long such a body is received.
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// An error that ends a body. hyper then closes the connection, or resets the stream of HTTP/2.
type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// What is known of a request body while it is sent to the upstream.
#[derive(Debug, Clone, Default)]
pub(super) struct UploadState {
    failure: Arc<OnceLock<GatewayError>>,
    /// Cancelled once nothing more of the body is sent.
    sent: CancellationToken,
}

impl UploadState {
    /// Returns why the body could not be sent to its end because of its caller, if it could not.
    pub(super) fn failure(&self) -> Option<GatewayError> {
        self.failure.get().copied()
    }

    /// Waits until nothing more of the body is sent.
    pub(super) async fn until_sent(&self) {
        self.sent.cancelled().await;
    }
}

/// What a request holds until both of its bodies have ended.
pub(super) type Holding = Arc<dyn Any + Send + Sync>;

/// A request body of a limited size, which must arrive in time.
pub(super) struct Upload {
    /// `None` once the body has ended or failed.
    body: Option<Body>,
    /// The bytes that it may still have.
    left: usize,
    deadline: Pin<Box<Sleep>>,
    state: UploadState,
    _sent: DropGuard,
    /// As long as the body has not ended, there is a connection to the upstream, also after the response.
    _holding: Holding,
}

impl Upload {
    /// Creates the body from that of a caller, and what is known of it from then on.
    pub(super) fn new(
        body: Body,
        limit: usize,
        time: Duration,
        holding: Holding,
    ) -> (Self, UploadState) {
        let state = UploadState::default();
        if body.is_end_stream() {
            state.sent.cancel();
        }
        let upload = Self {
            body: Some(body),
            left: limit,
            deadline: Box::pin(sleep(time)),
            state: state.clone(),
            _sent: state.sent.clone().drop_guard(),
            _holding: holding,
        };
        (upload, state)
    }

    fn fail(&mut self, error: GatewayError) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let _ = self.state.failure.set(error);
        if let Some(body) = self.body.take() {
            discard(body);
        }
        Poll::Ready(Some(Err(error.code().into())))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // The upstream has not taken all of it, and its caller may still be sending the rest.
        if let Some(body) = self.body.take() {
            discard(body);
        }
    }
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        match Pin::new(body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let size = frame.data_ref().map_or(0, Bytes::len);
                match self.left.checked_sub(size) {
                    Some(left) => {
                        self.left = left;
                        Poll::Ready(Some(Ok(frame)))
                    }
                    None => self.fail(GatewayError::BodyTooLarge),
                }
            }
            Poll::Ready(Some(Err(_))) => self.fail(GatewayError::BodyIncomplete),
            Poll::Ready(None) => {
                self.body = None;
                self.state.sent.cancel();
                Poll::Ready(None)
            }
            Poll::Pending => match self.deadline.as_mut().poll(cx) {
                Poll::Ready(()) => self.fail(GatewayError::BodyTimeout),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }
}

/// Receives a part of a body that nobody wants, beside the response.
pub(super) fn discard(mut body: Body) {
    // Without a runtime, the process ends, and the connections with it.
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    if body.is_end_stream() {
        return;
    }
    runtime.spawn(async move {
        let receive = async {
            let mut received = 0;
            while received < MOST_DISCARDED {
                let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
                let Some(Ok(frame)) = frame else { return };
                received += frame.data_ref().map_or(0, Bytes::len);
            }
        };
        let _ = tokio::time::timeout(DISCARD_TIME, receive).await;
    });
}

/// A response body, which ends with an error if the upstream pauses for too long, or the key of the
/// request is deleted.
pub(super) struct Download {
    source: Arc<Source>,
    pause: Duration,
    idle: Pin<Box<Sleep>>,
    /// The id of the request, for the log.
    request_id: String,
    /// Takes what the source has once the key is deleted. A task of its own, because nobody polls a
    /// body while its caller takes nothing of the response.
    _watchdog: AbortOnDropHandle<()>,
}

/// The body that the upstream sends, and what the request holds until its response has ended. Its upload holds
/// the same.
struct Source {
    /// `None` once the key is deleted, or the response is dropped.
    held: Mutex<Option<(Body, Holding)>>,
    /// Wakes the task that waits for the body.
    waker: AtomicWaker,
}

impl Source {
    fn held(&self) -> MutexGuard<'_, Option<(Body, Holding)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection to the upstream, and gives back what the request holds, unless its upload has not
    /// ended.
    fn end(&self) {
        let held = self.held().take();
        self.waker.wake();
        drop(held);
    }
}

impl Download {
    /// Creates the body from that of the upstream, which may pause for as long as `pause`. `deleted`
    /// ends once the key is deleted.
    pub(super) fn new(
        body: Body,
        pause: Duration,
        deleted: BoxFuture<'static, ()>,
        request_id: String,
        held: Holding,
    ) -> Self {
        let source = Arc::new(Source {
            held: Mutex::new(Some((body, held))),
            waker: AtomicWaker::new(),
        });
        let watched = Arc::clone(&source);
        let watchdog = tokio::spawn(async move {
            deleted.await;
            watched.end();
        });
        Self {
            source,
            pause,
            idle: Box::pin(sleep(pause)),
            request_id,
            _watchdog: AbortOnDropHandle::new(watchdog),
        }
    }
}

impl Download {
    fn fail(&self, reason: &'static str) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let request_id = &self.request_id;
        tracing::warn!(request_id, reason, "a forwarded response was cut off");
        Poll::Ready(Some(Err(reason.into())))
    }

    /// Returns the next frame of the upstream; an error once the key is deleted.
    fn poll_source(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Frame<Bytes>>, &'static str>> {
        // Before the look at what is held, so that its end wakes this task or is seen.
        self.source.waker.register(cx.waker());
        let mut held = self.source.held();
        let Some((body, _)) = held.as_mut() else {
            return Poll::Ready(Err("the key was deleted"));
        };
        let frame = ready!(Pin::new(body).poll_frame(cx)).transpose();
        Poll::Ready(frame.map_err(|_| "the upstream ended it early"))
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // At once, and not when the watchdog is dropped.
        self.source.end();
    }
}

impl HttpBody for Download {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.poll_source(cx) {
            Poll::Ready(Ok(Some(frame))) => {
                let until = Instant::now() + self.pause;
                self.idle.as_mut().reset(until);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Ok(None)) => Poll::Ready(None),
            Poll::Ready(Err(reason)) => self.fail(reason),
            Poll::Pending => match self.idle.as_mut().poll(cx) {
                Poll::Ready(()) => self.fail("the upstream paused for too long"),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        let held = self.source.held();
        held.as_ref().is_some_and(|(body, _)| body.is_end_stream())
    }
}
