//! A request with an idempotency key: claims the key before the handler runs, and keeps the response
//! after it.

use std::fmt;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tracing::Instrument;

use super::super::body::{self, Limits};
use super::super::call::Call;
use super::super::messages::Request;
use super::super::operation::{Operation, Status};
use super::super::rejection::{Rejected, Rejection, RejectionKind};
use super::super::request_head::RequestHead;
use super::super::request_id::RequestId;
use super::super::response::Unwritable;
use super::super::route::RouteResult;
use super::digest::{Caller, Digest, keyed};
use super::places::{Full, Place};
use super::{Begun, Claim, Idempotency, KEY, KeptResponse, KeyedRequest, Outcome, REPLAYED};

/// The time after which a caller may ask again for what is in progress, or finds a place.
const AGAIN: Duration = Duration::from_secs(1);

/// Makes the idempotency key of the current request belong to a caller, for the implementation of
/// `Security`, once it has accepted the credential.
///
/// By default, a key belongs to the credential that the request was accepted with, so that a repeat
/// with a renewed one is another request. A name of the caller that outlives the credential, such as
/// the id of an account, makes it a repeat.
///
/// Does nothing for a request without a key, or outside of a request.
///
/// ```
/// # use api_runtime::server::{self, AuthError, Bearer};
/// async fn bearer(credential: Bearer) -> Result<String, AuthError> {
///     let account = account_of(&credential).ok_or(AuthError::Invalid)?;
///     server::idempotency_scope(&account);
///     Ok(account)
/// }
/// # fn account_of(_: &Bearer) -> Option<String> { None }
/// ```
pub fn idempotency_scope(caller: &str) {
    if let Some(once) = RequestHead::current().and_then(|head| head.once) {
        let name = Digest::new("caller").and(caller.as_bytes());
        once.lock().scope = Some(name);
    }
}

/// A request with an idempotency key, to an operation that has keys.
pub(in super::super) struct Once {
    idempotency: Arc<Idempotency>,
    state: Mutex<State>,
    /// Whether the key is claimed, or may be, so that the request must run to its end.
    is_claimed: AtomicBool,
}

#[derive(Default)]
struct State {
    /// What the check of credentials has named the caller.
    scope: Option<Digest>,
    /// The credentials that the check has read.
    credentials: Option<Digest>,
    progress: Progress,
}

#[derive(Default)]
enum Progress {
    /// The handler does not run, or the request needs nothing at its end.
    #[default]
    Unclaimed,
    Claimed(KeyedRequest, Claim, Place),
    /// The response to an earlier request is the response.
    Replayed(KeptResponse),
}

impl Once {
    /// Returns what a request needs that has a key.
    pub(in super::super) fn new(idempotency: &Arc<Idempotency>) -> Arc<Self> {
        Arc::new(Self {
            idempotency: Arc::clone(idempotency),
            state: Mutex::default(),
            is_claimed: AtomicBool::new(false),
        })
    }

    /// Returns whether a request has a key.
    pub(in super::super) fn is_asked(headers: &http::HeaderMap) -> bool {
        headers.contains_key(KEY)
    }

    /// Notes a credential that the check of credentials reads.
    pub(in super::super) fn note(&self, scheme: &str, credential: &[u8]) {
        let mut state = self.lock();
        let noted = state.credentials.take();
        let noted = noted.unwrap_or_else(|| Digest::new("credentials"));
        state.credentials = Some(noted.and(scheme.as_bytes()).and(credential));
    }

    /// Forgets the credentials that were noted.
    pub(in super::super) fn forget_credentials(&self) {
        self.lock().credentials = None;
    }

    /// Reads a request, and claims its key if it has one.
    pub(in super::super) async fn reading<T: Request + Send>(
        call: &mut Call,
    ) -> Result<T, Rejected> {
        match call.once.clone() {
            // Boxed, so that the futures of requests without a key do not have its size.
            Some(once) => Box::pin(once.read(call)).await,
            None => T::read(call).await,
        }
    }

    /// Reads a request, and claims its key. The rejection stands for the kept response if there is
    /// one, which [`run`](Self::run) returns instead.
    async fn read<T: Request + Send>(&self, call: &mut Call) -> Result<T, Rejected> {
        let limits = Limits {
            bytes: call.limits.bytes.min(self.idempotency.body_limit),
            ..call.limits
        };
        let bytes = body::read(std::mem::take(call.body()), limits).await?;
        *call.body() = Body::from(bytes.clone());
        // First, so that a request that does not fit the contract claims no key.
        let request = T::read(call).await?;
        self.claim(call, &bytes).await?;
        Ok(request)
    }

    async fn claim(&self, call: &Call, bytes: &Bytes) -> Result<(), Rejected> {
        let operation = call.operation;
        let request = keyed(self.caller(call), operation, &call.parts, bytes);
        let Idempotency { store, places, .. } = &*self.idempotency;
        let place = places.take(&request).map_err(|full| match full {
            Full::Caller => again(
                RejectionKind::TooManyRequests,
                "too many of your requests with `Idempotency-Key` are in progress: send it again later",
                AGAIN,
            ),
            Full::Unknown | Full::All => again(
                RejectionKind::Unavailable,
                "too many requests with `Idempotency-Key` are in progress: send it again later",
                AGAIN,
            ),
        })?;
        // Before the store is asked: if the caller hangs up while it claims the key, somebody must
        // still give the key back.
        self.is_claimed.store(true, Ordering::Relaxed);
        let rejected = match store.begin(&request).await {
            Ok(Begun::Claimed(claim)) => {
                self.lock().progress = Progress::Claimed(request, claim, place);
                return Ok(());
            }
            Err(error) => {
                tracing::error!(%error, "the store of idempotency keys failed");
                again(
                    RejectionKind::Unavailable,
                    "the `Idempotency-Key` cannot be checked at the moment: send the request again later",
                    AGAIN,
                )
            }
            Ok(Begun::Done { digest, .. }) if digest != request.digest => reused(operation),
            Ok(Begun::Done {
                outcome: Outcome::Kept(response),
                ..
            }) => {
                self.lock().progress = Progress::Replayed(response);
                not_kept()
            }
            Ok(Begun::Done {
                outcome: Outcome::NotKept,
                ..
            }) => not_kept(),
            Ok(Begun::ScopeFull(wait)) => again(
                RejectionKind::TooManyRequests,
                "too many of your idempotency keys are in use: wait until the oldest one is forgotten",
                wait.unwrap_or(AGAIN),
            ),
            Ok(Begun::StoreFull(wait)) => again(
                RejectionKind::Unavailable,
                "too many idempotency keys are in use: wait until the oldest one is forgotten",
                wait.unwrap_or(AGAIN),
            ),
            Ok(Begun::InProgress) => again(
                RejectionKind::KeyInProgress,
                "a request with this `Idempotency-Key` is in progress: send yours again later",
                AGAIN,
            ),
        };
        self.is_claimed.store(false, Ordering::Relaxed);
        Err(rejected)
    }

    /// Returns the caller, who is known if credentials were checked.
    fn caller(&self, call: &Call) -> Caller {
        let state = self.lock();
        if let Some(known) = state.scope.as_ref().or(state.credentials.as_ref()) {
            return Caller {
                scope: known.clone().end(),
                is_known: true,
            };
        }
        // The contract asks for no credential, but the caller may have sent one for a proxy.
        let mut anyone = Digest::new("anyone");
        for value in call.parts.headers.get_all(header::AUTHORIZATION) {
            anyone.add(value.as_bytes());
        }
        Caller {
            scope: anyone.end(),
            is_known: false,
        }
    }

    /// Runs a route. Once it has claimed the key, it runs to its end even if the caller hangs up, as
    /// callers do before they send a request again.
    pub(in super::super) fn run(
        self: Arc<Self>,
        route: impl Future<Output = RouteResult> + Send + 'static,
    ) -> impl Future<Output = RouteResult> {
        let once = Arc::clone(&self);
        let running = async move {
            let ended = AssertUnwindSafe(route).catch_unwind().await;
            match ended {
                Ok(outcome) => once.end(outcome).await,
                Err(panic) => {
                    once.abandon().await;
                    resume_unwind(panic)
                }
            }
        };
        let running = running.in_current_span();
        ToItsEnd {
            once: self,
            running: Some(match RequestId::current() {
                Some(id) => Box::pin(id.scope(running)),
                None => Box::pin(running),
            }),
        }
    }

    /// Keeps the response of a request that has claimed its key, or returns the one that was kept.
    async fn end(&self, outcome: RouteResult) -> RouteResult {
        let progress = std::mem::take(&mut self.lock().progress);
        let (request, claim, place) = match progress {
            Progress::Unclaimed => return outcome,
            Progress::Replayed(kept) => return Ok(kept.replayed()),
            Progress::Claimed(request, claim, place) => (request, claim, place),
        };
        let store = &self.idempotency.store;
        let (outcome, stored) = match outcome {
            Ok(response) if is_done(&response) => {
                let (response, kept) = self.kept(response).await;
                (response, store.finish(&request, claim, kept).await)
            }
            refused => (refused, store.abandon(&request, claim).await),
        };
        if let Err(error) = stored {
            tracing::error!(%error, "the store of idempotency keys failed at the end of a request");
        }
        drop(place);
        self.is_claimed.store(false, Ordering::Relaxed);
        outcome
    }

    /// Gives the key back after a panic.
    async fn abandon(&self) {
        let internal = Rejection::new(RejectionKind::Internal, "");
        // The panic is what the caller gets.
        let _ = self.end(Err(Box::new(internal))).await;
    }

    /// Returns a response again, and what is kept of it.
    async fn kept(&self, response: Response) -> (RouteResult, Outcome) {
        let headers = response.headers().iter();
        let headers = headers.map(|(name, value)| name.as_str().len() + value.len());
        let headers = headers.sum::<usize>();
        // A body without a length is a stream, which may have no end.
        let length = response.body().size_hint().exact();
        let length = length.and_then(|length| usize::try_from(length).ok());
        let is_small = length.is_some_and(|length| {
            length.saturating_add(headers) <= self.idempotency.response_limit
        });
        if !is_small {
            return (Ok(response), Outcome::NotKept);
        }
        let (parts, body) = response.into_parts();
        // No body of the run time has trailers.
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                tracing::error!(%error, "the body of a response could not be read");
                let message = "the response could not be written";
                let rejection = Rejection::new(RejectionKind::Internal, message);
                return (Err(Box::new(rejection)), Outcome::NotKept);
            }
        };
        let kept = KeptResponse {
            status: parts.status,
            headers: parts.headers.clone(),
            body: body.clone(),
        };
        let response = Response::from_parts(parts, Body::from(body));
        (Ok(response), Outcome::Kept(kept))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl KeptResponse {
    /// Returns the response to a repeat.
    fn replayed(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        let replayed = HeaderValue::from_static("true");
        response.headers_mut().insert(REPLAYED, replayed);
        response
    }
}

/// Returns whether a response says that the request was done. An error says that nothing was changed,
/// or that nobody knows, so the request may be sent again with the same key.
fn is_done(response: &Response) -> bool {
    let status = response.status();
    (status.is_success() || status.is_redirection())
        && response.extensions().get::<Unwritable>().is_none()
}

fn again(kind: RejectionKind, message: &'static str, wait: Duration) -> Rejected {
    Box::new(Rejection::new(kind, message).retry_after(wait))
}

/// Returns the rejection of a key that was used for another request: 422, as the draft says, unless
/// the contract lists 409 and not 422 for the operation.
fn reused(operation: &Operation) -> Rejected {
    let lists = |code: u16| {
        let listed = operation.responses.iter().chain(operation.errors);
        let mut listed = listed.map(|response| response.key);
        listed.any(|key| key == Status::Code(code)) || operation.rejections.contains(&code)
    };
    let message = "the `Idempotency-Key` was used for another request: send a new one";
    let mut rejection = Rejection::new(RejectionKind::KeyReused, message);
    if lists(409) && !lists(422) {
        rejection.status = StatusCode::CONFLICT;
    }
    Box::new(rejection)
}

fn not_kept() -> Rejected {
    let message = "the request with this `Idempotency-Key` was done, but its response was too large to be kept: look at what it has changed";
    Box::new(Rejection::new(RejectionKind::ResponseNotKept, message))
}

/// A route that goes on by itself if it is dropped while its key is claimed.
struct ToItsEnd {
    once: Arc<Once>,
    running: Option<BoxFuture<'static, RouteResult>>,
}

impl Future for ToItsEnd {
    type Output = RouteResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RouteResult> {
        let running = self.running.as_mut().expect("it has not ended");
        let polled = running.as_mut().poll(context);
        if polled.is_ready() {
            self.running = None;
        }
        polled
    }
}

impl Drop for ToItsEnd {
    fn drop(&mut self) {
        let is_claimed = self.once.is_claimed.load(Ordering::Relaxed);
        // A future that has panicked cannot go on.
        let running = self
            .running
            .take()
            .filter(|_| is_claimed && !std::thread::panicking());
        if let (Some(running), Ok(runtime)) = (running, Handle::try_current()) {
            runtime.spawn(running);
        }
    }
}
