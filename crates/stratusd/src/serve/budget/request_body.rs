//! [`RequestBody`]: a request's body, which counts its bytes, and waits before it is parsed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body::{Frame, SizeHint};

use super::super::long_work::LONG_BODY;
use super::{InProgress, SHARE};
use crate::api::Overload;

/// The body of a request, whose bytes beyond the share are charged before the handler sees them.
pub(super) struct RequestBody {
    body: Body,
    /// The bytes that have arrived.
    seen: usize,
    progress: Arc<InProgress>,
    /// A piece that waits for its bytes to become free.
    waiting: Option<(Frame<Bytes>, BoxFuture<'static, Result<(), Overload>>)>,
    /// Whether the body has not waited yet until it may be parsed. It does at its end, so that a
    /// caller who sends slowly does not keep others from theirs.
    is_unparsed: bool,
    parsing: Option<BoxFuture<'static, Result<(), Overload>>>,
}

impl RequestBody {
    /// Has the body of a request counted and, if it is long, wait at its end until it may be parsed.
    pub(super) fn count(request: Request, progress: &Arc<InProgress>) -> Request {
        if request.body().is_end_stream() {
            return request;
        }
        request.map(|body| {
            Body::new(Self {
                body,
                seen: 0,
                progress: Arc::clone(progress),
                waiting: None,
                is_unparsed: true,
                parsing: None,
            })
        })
    }

    /// Returns the bytes of a piece that are beyond the share.
    fn beyond(&mut self, piece: usize) -> usize {
        let before = self.seen.max(SHARE);
        self.seen += piece;
        self.seen.saturating_sub(before)
    }

    /// Returns whether the body may not be parsed yet because it is long.
    fn is_long(&self) -> bool {
        self.is_unparsed && self.seen > LONG_BODY
    }

    /// Waits until a body that has arrived may be parsed. Returns an error if it waits in vain.
    fn poll_parsing(&mut self, cx: &mut Context<'_>) -> Poll<Option<axum::Error>> {
        if !self.is_long() {
            return Poll::Ready(None);
        }
        let progress = &self.progress;
        let parsing = self.parsing.get_or_insert_with(|| progress.begin_parsing());
        let begun = ready!(parsing.poll_unpin(cx));
        (self.is_unparsed, self.parsing) = (false, None);
        Poll::Ready(begun.err().map(over))
    }
}

/// Returns the error that ends the body of a request that is rejected.
fn over(_: Overload) -> axum::Error {
    axum::Error::new("too many large bodies are in progress")
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            if let Some((_, taking)) = &mut self.waiting {
                let taken = ready!(taking.poll_unpin(cx));
                let (frame, _) = self.waiting.take().expect("it was just polled");
                return Poll::Ready(Some(taken.map(|()| frame).map_err(over)));
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
            let taking = self.progress.take_bytes(bytes);
            self.waiting = Some((frame, taking));
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
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;

    use super::super::super::long_work::LongWork;
    use super::super::{Budget, signed};
    use super::*;
    use crate::api::Admission as _;

    /// The part of the budget for what bodies have beyond their shares, in bytes.
    const LARGE: usize = 4 << 20;

    fn budget(work: LongWork) -> Budget {
        Budget::new(2 * LARGE, work, Gauge::default(), Counter::default())
    }

    /// Returns a request whose body arrives in two pieces and has this many bytes, and what is known
    /// of it.
    fn request(bytes: usize, budget: &Budget) -> (Request, Arc<InProgress>) {
        let progress = Arc::new(InProgress::new(&budget.pool));
        let half = Bytes::from(vec![b' '; bytes / 2]);
        let pieces = [half.clone(), half].map(Ok::<_, std::convert::Infallible>);
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        let request = RequestBody::count(Request::new(body), &progress);
        (request, progress)
    }

    #[tokio::test]
    async fn a_long_body_ends_once_it_may_be_parsed() {
        let work = LongWork::new(2);
        let budget = budget(work.clone());
        let other = work.processor().await;
        let (small, _) = request(LONG_BODY, &budget);
        let small = small.into_body().collect();
        assert!(small.now_or_never().is_some_and(|read| read.is_ok()));

        let (long, progress) = request(LONG_BODY + 2, &budget);
        let mut long = Box::pin(long.into_body().collect());
        assert!(long.as_mut().now_or_never().is_none());
        drop(other);
        let read = long.await.expect("the body is whole").to_bytes();
        assert_eq!(read.len(), LONG_BODY + 2);
        // Now this body keeps others waiting, as long as its request is parsed.
        assert!(work.processor().now_or_never().is_none());
        progress.end();
        assert!(work.processor().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_waits_in_vain_is_an_error() {
        let work = LongWork::new(2);
        let budget = budget(work.clone());
        let _other = work.processor().await;
        let (long, progress) = request(LONG_BODY + 2, &budget);
        assert!(long.into_body().collect().await.is_err());
        assert!(progress.is_over());
    }

    #[tokio::test]
    async fn one_body_may_have_more_than_it_leaves_for_others() {
        let budget = budget(LongWork::new(2));
        let held = &budget.pool.held;
        let (small, _) = request(SHARE, &budget);
        let small = small.into_body().collect().await;
        assert_eq!((small.is_ok(), held.get()), (true, 0));
        let (long, progress) = request(LARGE, &budget);
        let long = long.into_body().collect().now_or_never();
        assert!(long.is_some_and(|read| read.is_ok()));
        assert_eq!(held.get(), signed(LARGE - SHARE));
        // As long as its request is handled.
        let project = format!("pj{}", "s".repeat(24));
        let project = project.try_into().expect("it is an id");
        assert!(progress.admit(&project).await.is_ok());
        let (owner, _share) = progress.end().expect("it was admitted");
        assert_eq!((owner, held.get()), (Some(project), 0));
    }

    #[tokio::test]
    async fn a_body_has_ended_once_it_may_be_parsed() {
        let budget = budget(LongWork::new(2));
        let progress = Arc::new(InProgress::new(&budget.pool));
        let count = |bytes: usize| {
            let request = Request::new(Body::from(vec![b' '; bytes]));
            RequestBody::count(request, &progress).into_body()
        };
        assert!(count(0).is_end_stream());
        for (bytes, is_long) in [(LONG_BODY, false), (LONG_BODY + 1, true)] {
            let mut body = count(bytes);
            assert!(!body.is_end_stream());
            assert_eq!(body.size_hint().exact(), Some(bytes as u64));
            let frame = body.frame().await.expect("there is one");
            assert!(frame.is_ok());
            assert_eq!(body.is_end_stream(), !is_long);
            assert!(body.frame().await.is_none());
            assert!(body.is_end_stream());
        }
        // Its only piece has arrived, and waits for bytes to become free.
        let others = budget.pool.large.take(&None, LARGE);
        let mut body = count(LONG_BODY + 1);
        assert!(body.frame().now_or_never().is_none());
        assert!(!body.is_end_stream());
        drop(others);
        let frame = body.frame().now_or_never().flatten();
        assert!(frame.is_some_and(|frame| frame.is_ok()));
    }
}
