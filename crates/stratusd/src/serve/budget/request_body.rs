//! [`RequestBody`]: a request's body, which counts its bytes, and waits before it is parsed.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body::{Frame, SizeHint};
use tokio::sync::SemaphorePermit;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::super::long_work::{LONG_BODY, LongWork, Working};
use super::{Charge, Large, SHARE, permits};
use crate::api::Parsing;
use crate::storage::WAIT;

/// The body of a request, whose bytes beyond the share are charged before the handler sees them.
pub(super) struct RequestBody {
    body: Body,
    /// The bytes that have arrived.
    seen: usize,
    progress: Arc<Progress>,
    /// A piece that waits for its bytes to become free, and how many these are.
    waiting: Option<(Frame<Bytes>, usize, BoxFuture<'static, bool>)>,
    /// The wait until a long body may be parsed, which begins at its end, so that a caller who
    /// sends slowly does not keep others from theirs. `None` after it.
    working: Option<BoxFuture<'static, Result<Working, Elapsed>>>,
    parsing: Parsing,
}

/// What is known of the body of a request until the request is handled. The body is dropped before,
/// when it has been read, but the handler still has its bytes then.
pub(super) struct Progress {
    charge: Mutex<Charge>,
    /// Set when the body has waited in vain.
    is_over: AtomicBool,
}

impl Progress {
    /// Returns whether the handler saw a body that cannot be read, and so has changed nothing.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn charge(&self) -> MutexGuard<'_, Charge> {
        self.charge.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestBody {
    /// Has the body of a request counted and, if it is long, wait at its end until it may be parsed.
    pub(super) fn count(
        mut request: Request,
        large: &Arc<Large>,
        work: &LongWork,
    ) -> (Request, Arc<Progress>) {
        let progress = Arc::new(Progress {
            charge: Mutex::new(Charge::none(large)),
            is_over: AtomicBool::new(false),
        });
        if request.body().is_end_stream() {
            return (request, progress);
        }
        let parsing = Parsing::default();
        request.extensions_mut().insert(parsing.clone());
        let working = timeout(WAIT, work.wait(request.headers()));
        let request = request.map(|body| {
            Body::new(Self {
                body,
                seen: 0,
                progress: Arc::clone(&progress),
                waiting: None,
                working: Some(working.boxed()),
                parsing,
            })
        });
        (request, progress)
    }

    /// Returns the bytes of a piece that are beyond the share.
    fn beyond(&mut self, piece: usize) -> usize {
        let before = self.seen.max(SHARE);
        self.seen += piece;
        self.seen.saturating_sub(before)
    }

    /// Returns whether the body may not be parsed yet because it is long.
    fn is_long(&self) -> bool {
        self.working.is_some() && self.seen > LONG_BODY
    }

    /// Waits until a body that has arrived may be parsed. Returns an error if it waits in vain.
    fn poll_parsing(&mut self, cx: &mut Context<'_>) -> Poll<Option<axum::Error>> {
        if !self.is_long() {
            return Poll::Ready(None);
        }
        let Some(working) = &mut self.working else {
            return Poll::Ready(None);
        };
        let working = ready!(working.poll_unpin(cx));
        self.working = None;
        Poll::Ready(match working {
            Ok(working) => {
                self.parsing.hold(working);
                None
            }
            Err(_) => Some(self.give_up()),
        })
    }

    /// Has the request rejected, and returns the error that ends its body.
    fn give_up(&self) -> axum::Error {
        self.progress.is_over.store(true, Ordering::Relaxed);
        axum::Error::new("too many large bodies are in progress")
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            if let Some((_, _, taking)) = &mut self.waiting {
                let is_taken = ready!(taking.poll_unpin(cx));
                let (frame, bytes, _) = self.waiting.take().expect("it was just polled");
                if is_taken {
                    self.progress.charge().add(bytes);
                    return Poll::Ready(Some(Ok(frame)));
                }
                return Poll::Ready(Some(Err(self.give_up())));
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                None => return self.poll_parsing(cx).map(|failed| failed.map(Err)),
                failed => return Poll::Ready(failed),
            };
            let piece = frame.data_ref().map_or(0, Bytes::len);
            let bytes = self.beyond(piece);
            if bytes == 0 {
                return Poll::Ready(Some(Ok(frame)));
            }
            let free = Arc::clone(&self.progress.charge().large.free);
            let taking = async move {
                let taken = timeout(WAIT, free.acquire_many(permits(bytes))).await;
                taken.is_ok_and(|taken| taken.map(SemaphorePermit::forget).is_ok())
            };
            self.waiting = Some((frame, bytes, taking.boxed()));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && !self.is_long() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use prometheus_client::metrics::gauge::Gauge;
    use tokio::sync::Semaphore;

    use super::*;

    /// Returns a request whose body arrives in two pieces and has this many bytes.
    fn request(bytes: usize, work: &LongWork) -> Request {
        let large = Arc::new(Large {
            free: Arc::new(Semaphore::new(1 << 20)),
            debt: Mutex::new(0),
            held: Gauge::default(),
        });
        let half = Bytes::from(vec![b' '; bytes / 2]);
        let pieces = [half.clone(), half].map(Ok::<_, std::convert::Infallible>);
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        RequestBody::count(Request::new(body), &large, work).0
    }

    #[tokio::test]
    async fn a_long_body_ends_once_it_may_be_parsed() {
        let work = LongWork::new(2);
        let other = work.wait(&http::HeaderMap::new()).await;
        let small = request(LONG_BODY, &work).into_body().collect();
        assert!(small.now_or_never().is_some_and(|read| read.is_ok()));

        let long = request(LONG_BODY + 2, &work);
        let parsing = long.extensions().get::<Parsing>().cloned();
        let mut long = Box::pin(long.into_body().collect());
        assert!(long.as_mut().now_or_never().is_none());
        drop(other);
        let read = long.await.expect("the body is whole").to_bytes();
        assert_eq!(read.len(), LONG_BODY + 2);
        // Now this body keeps others waiting, as long as its request is parsed.
        assert!(work.wait(&http::HeaderMap::new()).now_or_never().is_none());
        drop(parsing);
        assert!(work.wait(&http::HeaderMap::new()).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_waits_in_vain_is_an_error() {
        let work = LongWork::new(2);
        let _other = work.wait(&http::HeaderMap::new()).await;
        let read = request(LONG_BODY + 2, &work).into_body().collect().await;
        assert!(read.is_err());
    }
}
