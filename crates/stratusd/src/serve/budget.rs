//! The budget for the bytes of all bodies in progress: of requests until they are handled, and of
//! responses until they are written.
//!
//! Half of the budget is split into shares of [`SHARE`] bytes, one for each request in progress, so
//! that small requests go on while large bodies wait. No token has more than a part of them. The
//! other half is for what bodies have beyond their share. Health checks have a port of their own and
//! are never counted.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use api_server::server::{Next, OperationId, Rejected, Rejection, RejectionKind, RouteResult};
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, Version};
use http_body::{Frame, SizeHint};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::long_pages::{LongPages, is_long};
use super::turns::{Turn, Turns};
use crate::storage::WAIT;

/// The bytes that each request in progress has for its bodies without asking for more.
const SHARE: usize = 16 << 10;
/// The part of the shares that the requests of one token may have: a quarter.
const PARTS: usize = 4;
/// The size of the pieces in which a large response is handed to the connection, which copies what
/// it cannot write yet.
const PIECE: usize = 64 << 10;
/// The size of responses that hold no share while they wait for their caller. Every rejection is
/// smaller, so callers without a token cannot hold the shares.
const SMALL: u64 = 1 << 10;
/// The time after which a rejected request may be sent again.
const AGAIN: Duration = Duration::from_secs(1);

/// The budget, which runs around the operations.
///
/// A request that does not fit waits for at most [`WAIT`], and is then rejected with 503. A response
/// that only reads is rejected at once, since it is in memory already; the response to a change is
/// always sent, because the change is committed.
#[derive(Debug)]
pub(super) struct Budget {
    /// The shares that no request has.
    shares: Arc<Semaphore>,
    /// The turns of each token, without which its requests get no share.
    turns: Arc<Turns>,
    /// The bytes beyond the shares.
    large: Arc<Large>,
    /// The long pages that run.
    pages: LongPages,
    refused: Counter,
}

impl Budget {
    /// Creates a budget of a number of bytes. `held` is set to the bytes beyond the shares, and
    /// `refused` counts the rejected requests.
    pub(super) fn new(bytes: usize, pages: LongPages, held: Gauge, refused: Counter) -> Self {
        let half = bytes / 2;
        let shares = (half / SHARE).max(1);
        Self {
            shares: Arc::new(Semaphore::new(shares)),
            turns: Arc::new(Turns::new((shares / PARTS).max(1))),
            large: Arc::new(Large {
                free: Arc::new(Semaphore::new(half)),
                debt: Mutex::new(0),
                held,
            }),
            pages,
            refused,
        }
    }

    /// Runs a request, and rejects it if its bodies do not fit beside those in progress.
    pub(super) async fn handle(&self, request: Request, next: Next<'_>) -> RouteResult {
        let Some(share) = self.share(request.headers()).await else {
            return Err(self.refuse());
        };
        let page = if is_long(&request) {
            let turn = timeout(WAIT, self.pages.wait(request.headers())).await;
            Some(turn.map_err(|_| self.refuse())?)
        } else {
            None
        };
        let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
        let is_multiplexed = request.version() == Version::HTTP_2;
        let is_over = Arc::new(AtomicBool::new(false));
        // Held here as well as by the body, which the router drops once it has read it: the handler
        // still has the bytes then.
        let charge = Arc::new(Mutex::new(Charge::none(&self.large)));
        let request = request.map(|body| {
            if body.is_end_stream() {
                return body;
            }
            Body::new(RequestBody {
                body,
                seen: 0,
                charge: Arc::clone(&charge),
                waiting: None,
                is_over: Arc::clone(&is_over),
            })
        });
        let response = next.run(request).await;
        drop((charge, page));
        if is_over.load(Ordering::Relaxed) {
            // The handler saw a body that cannot be read, and has changed nothing.
            return Err(self.refuse());
        }
        let size = response.body().size_hint();
        // The served contract is in memory once, however many callers read it.
        let is_static = response.extensions().get::<OperationId>().is_none();
        if is_static || size.exact().is_some_and(|size| size <= SMALL) {
            return Ok(response);
        }
        let size = size.lower();
        let beyond = usize::try_from(size)
            .unwrap_or(usize::MAX)
            .saturating_sub(SHARE);
        let charge = if is_change {
            self.large.charge(beyond)
        } else {
            match self.large.try_charge(beyond) {
                Some(charge) => charge,
                None => return Err(self.refuse()),
            }
        };
        let held = Arc::new(Held {
            _charge: charge,
            _share: share,
        });
        Ok(response.map(|body| {
            Body::new(ResponseBody {
                body,
                is_multiplexed,
                rest: Bytes::new(),
                held,
            })
        }))
    }

    /// Waits for a share, and before it for a turn of the token.
    async fn share(&self, headers: &HeaderMap) -> Option<Share> {
        let waiting = async {
            let turn = self.turns.wait(headers).await;
            let permit = Arc::clone(&self.shares).acquire_owned().await.ok()?;
            Some(Share {
                _permit: permit,
                _turn: turn,
            })
        };
        timeout(WAIT, waiting).await.ok()?
    }

    fn refuse(&self) -> Rejected {
        self.refused.inc();
        let message = "too many large requests and responses are in progress: try again later";
        Box::new(Rejection::new(RejectionKind::Unavailable, message).retry_after(AGAIN))
    }
}

/// The share of a request, and the turn of its token.
#[derive(Debug)]
struct Share {
    _permit: OwnedSemaphorePermit,
    _turn: Option<Turn>,
}

/// The half of the budget for what bodies have beyond their shares.
#[derive(Debug)]
struct Large {
    free: Arc<Semaphore>,
    /// The bytes that were taken although none were free. What is given back pays for them first.
    debt: Mutex<usize>,
    held: Gauge,
}

impl Large {
    /// Takes bytes if they are free.
    fn try_charge(self: &Arc<Self>, bytes: usize) -> Option<Charge> {
        self.free.try_acquire_many(permits(bytes)).ok()?.forget();
        let mut charge = Charge::none(self);
        charge.add(bytes);
        Some(charge)
    }

    /// Takes bytes even if they are not free.
    fn charge(self: &Arc<Self>, bytes: usize) -> Charge {
        self.try_charge(bytes).unwrap_or_else(|| {
            *self.debt.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
            let mut charge = Charge::none(self);
            charge.add(bytes);
            charge
        })
    }

    fn give_back(&self, bytes: usize) {
        let paid = {
            let mut debt = self.debt.lock().unwrap_or_else(PoisonError::into_inner);
            let paid = bytes.min(*debt);
            *debt -= paid;
            paid
        };
        self.free.add_permits(bytes - paid);
        self.held.dec_by(signed(bytes));
    }
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Bytes that were taken, and are given back when this is dropped.
#[derive(Debug)]
struct Charge {
    large: Arc<Large>,
    bytes: usize,
}

impl Charge {
    fn none(large: &Arc<Large>) -> Self {
        Self {
            large: Arc::clone(large),
            bytes: 0,
        }
    }

    /// Notes bytes that were taken.
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.large.held.inc_by(signed(bytes));
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.large.give_back(self.bytes);
        }
    }
}

/// The body of a request, whose bytes beyond the share are charged before the handler sees them.
struct RequestBody {
    body: Body,
    /// The bytes that have arrived.
    seen: usize,
    charge: Arc<Mutex<Charge>>,
    /// A piece that waits for its bytes to become free, and how many these are.
    waiting: Option<(Frame<Bytes>, usize, BoxFuture<'static, bool>)>,
    /// Set when the wait was in vain.
    is_over: Arc<AtomicBool>,
}

impl RequestBody {
    fn charge(&self) -> MutexGuard<'_, Charge> {
        self.charge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes of a piece that are beyond the share.
    fn beyond(&mut self, piece: usize) -> usize {
        let before = self.seen.max(SHARE);
        self.seen += piece;
        self.seen.saturating_sub(before)
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
                    self.charge().add(bytes);
                    return Poll::Ready(Some(Ok(frame)));
                }
                self.is_over.store(true, Ordering::Relaxed);
                let error = axum::Error::new("too many bytes of bodies are in progress");
                return Poll::Ready(Some(Err(error)));
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                ended => return Poll::Ready(ended),
            };
            let piece = frame.data_ref().map_or(0, Bytes::len);
            let bytes = self.beyond(piece);
            if bytes == 0 {
                return Poll::Ready(Some(Ok(frame)));
            }
            let free = Arc::clone(&self.charge().large.free);
            let taking = async move {
                let taken = timeout(WAIT, free.acquire_many(permits(bytes))).await;
                taken.is_ok_and(|taken| taken.map(SemaphorePermit::forget).is_ok())
            };
            self.waiting = Some((frame, bytes, taking.boxed()));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What a response holds until it is written.
#[derive(Debug)]
struct Held {
    _charge: Charge,
    _share: Share,
}

/// The body of a response, in pieces that keep hold of the budget: the connection drops the body
/// when it has taken the last piece, and that piece when it is written.
struct ResponseBody {
    body: Body,
    /// Whether the connection keeps a piece until the caller has room for it, as in HTTP/2.
    is_multiplexed: bool,
    /// What is left of the bytes that the body has returned.
    rest: Bytes,
    held: Arc<Held>,
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
