//! The rest of a request body that nobody reads: it is received and dropped, within bounds.
//!
//! A response may be complete before the body of its request has arrived: the credentials are
//! wrong, the path is unknown, the body is too large. If the body is dropped then, an HTTP/1
//! connection cannot be used again, so hyper closes it, and the kernel resets a connection that is
//! closed while bytes arrive. A caller that sends its whole body before it reads may then lose the
//! response, and a proxy may lose the next request that it has sent on the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http::request::Parts;
use http::{Version, header};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::runtime::Handle;

/// The maximum size of the rest of a body that is received. If there is more, the connection is
/// closed, and the response says so if the head of the request has said how much there is.
const BYTES: usize = 4 << 20;
/// The time in which the rest of a body must arrive. After that, the connection is closed.
const TIME: Duration = Duration::from_secs(5);

/// Returns a body whose rest is received after it is dropped, and whether the connection ends with
/// its response.
pub(super) fn received(parts: &Parts, body: Body) -> (Body, Ending) {
    // HTTP/2 can end the stream of one request without the connection.
    if parts.version > Version::HTTP_11 || body.is_end_stream() {
        return (body, Ending(None));
    }
    let expects = parts.headers.contains_key(header::EXPECT);
    let is_large = body.size_hint().lower() > BYTES as u64;
    let ending = (expects || is_large).then(|| {
        Arc::new(Unread {
            awaited: AtomicBool::new(expects),
            too_large: AtomicBool::new(is_large),
            dropped: AtomicBool::new(false),
        })
    });
    let ending = Ending(ending);
    let body = Body::new(Received {
        body,
        ending: ending.clone(),
        is_over: false,
    });
    (body, ending)
}

/// Whether a connection cannot be used again after the response, because of the body of its request.
#[derive(Debug, Clone)]
pub(super) struct Ending(Option<Arc<Unread>>);

/// What is known of a body that has not been read as a whole.
#[derive(Debug)]
struct Unread {
    /// Whether the caller waits for `100 Continue`, which hyper sends when the body is first read.
    awaited: AtomicBool,
    /// Whether more than [`BYTES`] of the body are still to come.
    too_large: AtomicBool,
    /// Whether nobody reads the body any more. A handler may answer and go on reading it.
    dropped: AtomicBool,
}

impl Ending {
    /// Returns whether the response must announce that the connection ends: a caller that keeps it
    /// would lose its next request. If a caller waits, nobody knows whether the body will follow.
    pub(super) fn is_certain(&self) -> bool {
        let Self(unread) = self;
        unread.as_ref().is_some_and(|unread| {
            let is_left =
                unread.dropped.load(Ordering::Relaxed) && unread.too_large.load(Ordering::Relaxed);
            is_left || unread.awaited.load(Ordering::Relaxed)
        })
    }

    fn is_awaited(&self) -> bool {
        let Self(unread) = self;
        unread
            .as_ref()
            .is_some_and(|unread| unread.awaited.load(Ordering::Relaxed))
    }

    /// Notes that a part of the body was read, of which as much is left at least.
    fn read(&self, left: u64) {
        if let Self(Some(unread)) = self {
            unread.awaited.store(false, Ordering::Relaxed);
            unread
                .too_large
                .store(left > BYTES as u64, Ordering::Relaxed);
        }
    }
}

/// A body whose rest is received after it is dropped.
struct Received {
    body: Body,
    ending: Ending,
    /// Whether there is nothing more to receive.
    is_over: bool,
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.ending.read(self.body.size_hint().lower());
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.is_over = true;
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

impl Drop for Received {
    fn drop(&mut self) {
        if let Ending(Some(unread)) = &self.ending {
            unread.dropped.store(true, Ordering::Relaxed);
        }
        // Reading would ask a caller that waits to send its body.
        if self.ending.is_awaited() || self.is_over || self.body.is_end_stream() {
            return;
        }
        // On a task of its own, so that the response does not wait.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(receive(std::mem::take(&mut self.body)));
        }
    }
}

async fn receive(mut body: Body) {
    let mut left = BYTES;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(less) = left.checked_sub(length) else {
                return;
            };
            left = less;
        }
    };
    // If the time is over, dropping the body makes hyper close the connection.
    let _ = tokio::time::timeout(TIME, rest).await;
}
