//! The budget for the bytes of all bodies in progress: of requests until they are handled, and of
//! responses until they are written.
//!
//! Half of the budget is split into shares of [`SHARE`] bytes, one for each request in progress, so
//! that small requests go on while large bodies wait. No token has more than a part of them. The
//! other half is for what bodies have beyond their share. Health checks have a port of their own and
//! are never counted.

mod request_body;
mod response_body;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_server::server::{Next, OperationId, Rejected, Rejection, RejectionKind, RouteResult};
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use http::{HeaderMap, Method, Version};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::long_work::{LongWork, is_long_page};
use super::turns::{Turn, Turns};
use crate::storage::WAIT;
use request_body::RequestBody;
use response_body::ResponseBody;

/// The bytes that each request in progress has for its bodies without asking for more.
const SHARE: usize = 16 << 10;
/// The part of the shares that the requests of one token may have: a quarter.
const PARTS: usize = 4;
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
    /// The long pages and bodies that are worked on.
    work: LongWork,
    refused: Counter,
}

impl Budget {
    /// Creates a budget of a number of bytes. `held` is set to the bytes beyond the shares, and
    /// `refused` counts the rejected requests.
    pub(super) fn new(bytes: usize, work: LongWork, held: Gauge, refused: Counter) -> Self {
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
            work,
            refused,
        }
    }

    /// Runs a request, and rejects it if its bodies do not fit beside those in progress.
    pub(super) async fn handle(&self, request: Request, next: Next<'_>) -> RouteResult {
        let Some(share) = self.share(request.headers()).await else {
            return Err(self.refuse());
        };
        let page = if is_long_page(&request) {
            let working = timeout(WAIT, self.work.wait(request.headers())).await;
            Some(working.map_err(|_| self.refuse())?)
        } else {
            None
        };
        let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
        let is_multiplexed = request.version() == Version::HTTP_2;
        let (request, progress) = RequestBody::count(request, &self.large, &self.work);
        let response = next.run(request).await;
        drop(page);
        if progress.is_over() {
            // The handler saw a body that cannot be read, and has changed nothing.
            return Err(self.refuse());
        }
        // Before the response takes its bytes: nobody needs those of the request any more.
        drop(progress);
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
        Ok(response.map(|body| Body::new(ResponseBody::new(body, is_multiplexed, charge, share))))
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
