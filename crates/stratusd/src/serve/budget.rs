//! The budget for the bytes of all bodies in progress: of requests until they are handled, and of
//! responses until they are written.
//!
//! Half of the budget is split into shares of [`SHARE`] bytes, one for each request in progress, so
//! that small requests go on while large bodies wait. The other half is for what bodies have beyond
//! their share. A project has no more of either than it leaves for others, and at most a part of the
//! shares, however many tokens it has.
//!
//! A request counts for the project of its token, once that is checked. Before that its body is not read,
//! and it has nothing of the budget: the path may name any project, so that strangers could use up what
//! is another one's, and a caller can invent as many tokens as it likes. Health checks have a port of
//! their own and are never counted.

mod in_progress;
mod request_body;
mod response_body;

use std::sync::Arc;
use std::time::Duration;

use api_server::server::{Next, OperationId, Rejected, Rejection, RejectionKind, RouteResult};
use api_types::ProjectId;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use http::{Method, Version};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use super::long_work::LongWork;
use crate::api::Admitted;
use crate::shares::{Most, Part, Shares};
use in_progress::InProgress;
use request_body::RequestBody;
use response_body::ResponseBody;

/// The bytes that each request in progress has for its bodies without asking for more.
const SHARE: usize = 16 << 10;
/// The part of the shares that the requests of one project may have: a quarter.
const PARTS: usize = 4;
/// The size of responses that hold no share while they wait for their caller. Errors are smaller.
const SMALL: u64 = 1 << 10;
/// The time after which a rejected request may be sent again.
const AGAIN: Duration = Duration::from_secs(1);

/// The project that something is counted for. `None` for what needs no token.
pub(super) type Owner = Option<ProjectId>;

/// The budget, which runs around the operations.
///
/// A request that does not fit waits for at most [`WAIT`](crate::storage::WAIT), and is then rejected
/// with 503. It is rejected at once if as many requests of its project wait as may be in progress. So is a
/// response that only reads, since it is in memory already; the response to a change is always sent,
/// because the change is committed. What this is beyond the part of its project, the project owes, and its
/// further requests are rejected until that much is written.
#[derive(Debug)]
pub(super) struct Budget {
    pool: Arc<Pool>,
    refused: Counter,
}

/// What requests have together.
#[derive(Debug)]
struct Pool {
    /// The shares, of which each request in progress has one.
    shares: Arc<Shares<Owner>>,
    /// How many shares a project may have, and how many of its requests may wait for one.
    each: usize,
    /// The bytes beyond the shares.
    large: Arc<Shares<Owner>>,
    /// The number of these that are taken.
    held: Gauge,
    /// The long pages and bodies that are worked on.
    work: LongWork,
}

impl Budget {
    /// Creates a budget of a number of bytes. `held` is set to the bytes beyond the shares, and
    /// `refused` counts the rejected requests.
    pub(super) fn new(bytes: usize, work: LongWork, held: Gauge, refused: Counter) -> Self {
        let half = bytes / 2;
        let shares = (half / SHARE).max(1);
        let each = (shares / PARTS).max(1);
        let shared = |all: usize, each: usize| {
            Arc::new(Shares::new(Most {
                all,
                each,
                leaves_as_much: true,
            }))
        };
        Self {
            pool: Arc::new(Pool {
                shares: shared(shares, each),
                each,
                large: shared(half, half),
                held,
                work,
            }),
            refused,
        }
    }

    /// Runs a request, and rejects it if its bodies do not fit beside those in progress.
    pub(super) async fn handle(&self, mut request: Request, next: Next<'_>) -> RouteResult {
        let progress = Arc::new(InProgress::new(&self.pool));
        let admission = Admitted(Arc::clone(&progress) as _);
        request.extensions_mut().insert(admission);
        let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
        let is_multiplexed = request.version() == Version::HTTP_2;
        let request = RequestBody::count(request, &progress);
        let response = next.run(request).await;
        if progress.is_over() {
            return Err(self.refuse());
        }
        // Before the response takes its bytes: nobody needs those of the request any more.
        let Some((owner, share)) = progress.end() else {
            return Ok(response);
        };
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
        let large = &self.pool.large;
        let part = if is_change {
            large.take(&owner, beyond)
        } else {
            match large.try_take(&owner, beyond) {
                Some(part) => part,
                None => return Err(self.refuse()),
            }
        };
        let charge = Charge::new(part, &self.pool);
        Ok(response.map(|body| Body::new(ResponseBody::new(body, is_multiplexed, charge, share))))
    }

    fn refuse(&self) -> Rejected {
        self.refused.inc();
        let message = "too many large requests and responses are in progress: try again later";
        Box::new(Rejection::new(RejectionKind::Unavailable, message).retry_after(AGAIN))
    }
}

/// Bytes beyond the shares that were taken, and are given back when this is dropped.
#[derive(Debug)]
struct Charge {
    part: Part<Owner>,
    held: Gauge,
}

impl Charge {
    fn new(part: Part<Owner>, pool: &Pool) -> Self {
        pool.held.inc_by(signed(part.amount()));
        Self {
            part,
            held: pool.held.clone(),
        }
    }

    fn bytes(&self) -> usize {
        self.part.amount()
    }

    /// Adds other bytes of the same project.
    fn add(&mut self, part: Part<Owner>) {
        self.held.inc_by(signed(part.amount()));
        self.part.join(part);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.held.dec_by(signed(self.part.amount()));
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
