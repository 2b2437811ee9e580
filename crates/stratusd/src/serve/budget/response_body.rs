//! [`ResponseBody`]: a response's body, which holds a part of the budget until it is written.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::{Charge, Owner, SHARE};
use crate::shares::Part;

/// The size of the pieces in which a large response is handed to the connection, which copies what
/// it cannot write yet.
const PIECE: usize = 64 << 10;

/// What a response holds until it is written.
#[derive(Debug)]
struct Held {
    _charge: Charge,
    _share: Part<Owner>,
}

/// The body of a response, in pieces that keep hold of the budget: the connection drops the body
/// when it has taken the last piece, and that piece when it is written.
pub(super) struct ResponseBody {
    body: Body,
    /// Whether the connection keeps a piece until the caller has room for it, as in HTTP/2.
    is_multiplexed: bool,
    /// What is left of the bytes that the body has returned.
    rest: Bytes,
    held: Arc<Held>,
}

impl ResponseBody {
    /// Has a body hold what it was charged for, and its share, until it is written.
    pub(super) fn new(
        body: Body,
        is_multiplexed: bool,
        charge: Charge,
        share: Part<Owner>,
    ) -> Self {
        Self {
            body,
            is_multiplexed,
            rest: Bytes::new(),
            held: Arc::new(Held {
                _charge: charge,
                _share: share,
            }),
        }
    }
}

/// Bytes that keep hold of the budget.
struct HeldBytes {
    bytes: Bytes,
    _held: Arc<Held>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                ended => return Poll::Ready(ended),
            };
            match frame.into_data() {
                // On HTTP/1, the connection has one buffer of this size anyway. On HTTP/2, each of
                // its requests can have such a piece.
                Ok(bytes) if bytes.len() <= SHARE && !self.is_multiplexed => {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Ok(bytes) => {
                    self.rest = Bytes::from_owner(HeldBytes {
                        bytes,
                        _held: Arc::clone(&self.held),
                    });
                }
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;

    use super::super::super::long_work::LongWork;
    use super::super::Budget;
    use super::*;

    /// The bytes that each of these responses is charged for.
    const CHARGED: usize = 1_000;

    fn budget() -> Budget {
        let work = LongWork::new(2);
        Budget::new(8 << 20, work, Gauge::default(), Counter::default())
    }

    fn held(body: Body, is_multiplexed: bool, budget: &Budget) -> ResponseBody {
        let pool = &budget.pool;
        let charge = Charge::new(pool.large.take(&None, CHARGED), pool);
        let share = pool.shares.take(&None, 1);
        ResponseBody::new(body, is_multiplexed, charge, share)
    }

    #[tokio::test]
    async fn a_response_is_in_pieces_and_whole() {
        let budget = budget();
        let bytes: Vec<u8> = (0..150_000_u32).map(|at| at.to_le_bytes()[1]).collect();
        let mut body = held(Body::from(bytes.clone()), false, &budget);
        let (mut received, mut pieces) = (Vec::new(), Vec::new());
        while let Some(frame) = body.frame().await {
            let data = frame.expect("it comes").into_data().expect("it is data");
            received.extend_from_slice(&data);
            pieces.push(data.len());
            let left = bytes.len() - received.len();
            assert_eq!(body.size_hint().exact(), Some(left as u64));
            assert_eq!(body.is_end_stream(), left == 0);
        }
        assert_eq!(pieces, [PIECE, PIECE, 150_000 - 2 * PIECE]);
        assert_eq!(received, bytes);
    }

    #[tokio::test]
    async fn the_sizes_of_a_body_without_a_length_are_bounds() {
        let budget = budget();
        let bytes = stream::iter([Ok::<_, std::convert::Infallible>(vec![b' '; 100_000])]);
        let mut body = held(Body::from_stream(bytes), false, &budget);
        assert!(body.frame().await.is_some());
        let hint = body.size_hint();
        assert_eq!((hint.lower(), hint.upper()), (100_000 - PIECE as u64, None));
    }

    #[tokio::test]
    async fn a_piece_holds_the_budget_until_it_is_written() {
        for (size, is_multiplexed, holds) in [
            (SHARE, false, false),
            (SHARE + 1, false, true),
            (10, true, true),
            (PIECE, true, true),
        ] {
            let budget = budget();
            let body = Body::from(vec![b' '; size]);
            let mut body = held(body, is_multiplexed, &budget);
            assert_eq!(budget.pool.held.get(), 1_000);
            let piece = body.frame().await;
            drop(body);
            let expected = if holds { 1_000 } else { 0 };
            assert_eq!(budget.pool.held.get(), expected, "{size} {is_multiplexed}");
            drop(piece);
            assert_eq!(budget.pool.held.get(), 0, "{size} {is_multiplexed}");
        }
    }
}
