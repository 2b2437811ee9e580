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
