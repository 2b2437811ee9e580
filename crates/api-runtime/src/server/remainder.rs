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
/// closed.
const BYTES: usize = 4 << 20;
/// The time in which the rest of a body must arrive. After that, the connection is closed.
const TIME: Duration = Duration::from_secs(5);

/// Returns a body whose rest is received after it is dropped, and whether its caller waits.
pub(super) fn received(parts: &Parts, body: Body) -> (Body, Waiting) {
    // HTTP/2 can end the stream of one request without the connection.
    if parts.version > Version::HTTP_11 || body.is_end_stream() {
        return (body, Waiting(None));
    }
    let expects = parts.headers.contains_key(header::EXPECT);
    let waiting = Waiting(expects.then(|| Arc::new(AtomicBool::new(true))));
    let body = Body::new(Received {
        body,
        waiting: waiting.clone(),
        is_over: false,
    });
    (body, waiting)
}

/// Whether a caller waits for `100 Continue`, which hyper sends when the body is first read.
#[derive(Debug, Clone)]
pub(super) struct Waiting(Option<Arc<AtomicBool>>);

impl Waiting {
    /// Returns whether the caller waits. If the response is complete then, nobody knows whether the
    /// body will follow, so the connection must be closed.
    pub(super) fn is_on(&self) -> bool {
        let Self(flag) = self;
        flag.as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    fn end(&self) {
        if let Self(Some(flag)) = self {
            flag.store(false, Ordering::Relaxed);
        }
    }
}

/// A body whose rest is received after it is dropped.
struct Received {
    body: Body,
    waiting: Waiting,
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
        self.waiting.end();
        let polled = Pin::new(&mut self.body).poll_frame(cx);
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
        // Reading would ask a caller that waits to send its body.
        if self.waiting.is_on() || self.is_over || self.body.is_end_stream() {
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
