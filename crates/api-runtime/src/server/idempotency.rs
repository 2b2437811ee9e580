//! Idempotency keys, as the IETF draft `draft-ietf-httpapi-idempotency-key-header` describes them: a
//! request that is sent again with the same key gets the response to the first one, and changes
//! nothing.
//!
//! The run time decides what a key stands for and which responses are kept; an
//! [`IdempotencyStore`] keeps them. [`MemoryStore`] is one for a single process.

mod digest;
mod memory;
mod once;
mod places;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, StatusCode};

use self::places::Places;
use super::operation::{Location, Operation};

pub use memory::MemoryStore;
pub(super) use once::Once;
pub use once::idempotency_scope;

/// The header of the key, in requests.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header of a response that was kept.
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The size of the largest response that is kept by default, with its headers: 16 KiB.
const RESPONSE_LIMIT: usize = 16 << 10;
/// The size of the largest body of a request with a key by default: 1 MiB.
const BODY_LIMIT: usize = 1 << 20;
/// The number of requests with a key that may be in progress by default.
const IN_PROGRESS: usize = 1024;
/// The number of these that may be of one caller by default.
const IN_PROGRESS_OF_CALLER: usize = 64;

/// What a store cannot do, for the log.
pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// Keeps the responses to requests with an idempotency key, for
/// [`Config::idempotency`](super::Config::idempotency).
///
/// A store must guarantee that
///
/// - of concurrent calls of [`begin`](Self::begin) with the same id, in all processes, exactly one
///   gets [`Begun::Claimed`];
/// - [`finish`](Self::finish) and [`abandon`](Self::abandon) have an effect only while their claim is
///   the current one of the id;
/// - a claim that is neither finished nor abandoned, because its process has ended, ends by itself, but
///   not before the longest time that a handler takes;
/// - an outcome is kept for the time that the contract promises, and is deleted then;
/// - the number of ids has a bound, as a whole, for each scope, and for all callers together whose
///   credentials were not checked.
///
/// A store must not panic. It can be shared by several servers, if they have the same operations.
pub trait IdempotencyStore: Send + Sync + 'static {
    /// Claims the id of a request, or returns what has become of it.
    ///
    /// # Errors
    ///
    /// If the store cannot say. The request is rejected with 503, and its handler does not run.
    fn begin<'a>(&'a self, request: &'a KeyedRequest) -> BoxFuture<'a, Result<Begun, StoreError>>;

    /// Keeps the outcome of a request that was claimed.
    ///
    /// # Errors
    ///
    /// If the store cannot keep it. The caller gets the response all the same, and the claim stays until
    /// it ends by itself.
    fn finish<'a>(
        &'a self,
        request: &'a KeyedRequest,
        claim: Claim,
        outcome: Outcome,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Ends a claim without an outcome: the request has changed nothing, so the key is as good as new.
    ///
    /// # Errors
    ///
    /// If the store cannot do it. The claim stays until it ends by itself.
    fn abandon<'a>(
        &'a self,
        request: &'a KeyedRequest,
        claim: Claim,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// A request with an idempotency key, as a store sees it: hashes (SHA-256), of which none shows what
/// the request has.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyedRequest {
    /// The hash of the caller, by which a store counts how many keys a caller has.
    pub scope: [u8; 32],
    /// Whether the caller is known, because its credentials were checked. If not, the scope is a hash
    /// of whatever the caller has sent, so one caller can have any number of scopes.
    pub is_known: bool,
    /// The hash of the caller, the operation and the key, by which a store finds an outcome.
    pub id: [u8; 32],
    /// The hash of everything that the request asks for. A store keeps it with the outcome.
    pub digest: [u8; 32],
}

impl fmt::Debug for KeyedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedRequest").finish_non_exhaustive()
    }
}

/// The right to run the handler of a request, with a number that the store has chosen: no two claims
/// of an id have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim(pub u64);

/// What a store knows of the id of a request.
#[derive(Debug, Clone)]
pub enum Begun {
    /// Nothing: this request has claimed it now.
    Claimed(Claim),
    /// Another request has claimed it, and is in progress.
    InProgress,
    /// An earlier request has this outcome.
    Done {
        /// The digest of the earlier request.
        digest: [u8; 32],
        /// Its outcome.
        outcome: Outcome,
    },
    /// Nothing, and the caller may have no more keys; with the time until it may, if known.
    ScopeFull(Option<Duration>),
    /// Nothing, and the store can keep no more keys, or no more of unknown callers; with the time until
    /// it can, if known.
    StoreFull(Option<Duration>),
}

/// The outcome of a request that was done.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The response, which a repeat gets.
    Kept(KeptResponse),
    /// The response is too large to be kept, or a stream. A repeat is rejected with 409, since the
    /// request was done.
    NotKept,
}

/// A response that is kept. It may show secrets: a database should encrypt it.
#[derive(Clone)]
pub struct KeptResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers of the handler, without those that the router adds to each response.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl fmt::Debug for KeptResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptResponse")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// Idempotency keys of a server: where responses are kept, and within which bounds.
///
/// ```
/// # use api_runtime::server::{Config, Idempotency, MemoryStore};
/// let config = Config::new().idempotency(Idempotency::new(MemoryStore::new()));
/// ```
#[derive(Clone)]
pub struct Idempotency {
    store: Arc<dyn IdempotencyStore>,
    response_limit: usize,
    body_limit: usize,
    places: Arc<Places>,
}

impl Idempotency {
    /// Keeps responses of up to 16 KiB in a store, for requests with bodies of up to 1 MiB, of which 64
    /// of one caller, 512 of callers whose credentials were not checked, and 1024 of all, may be in
    /// progress.
    #[must_use]
    pub fn new(store: impl IdempotencyStore) -> Self {
        Self {
            store: Arc::new(store),
            response_limit: RESPONSE_LIMIT,
            body_limit: BODY_LIMIT,
            places: Arc::new(Places::new(IN_PROGRESS, IN_PROGRESS_OF_CALLER)),
        }
    }

    /// Sets the size of the largest response that is kept, in bytes of its headers and body. Of a
    /// larger one only the fact that the request was done is kept.
    #[must_use]
    pub fn response_limit(mut self, bytes: usize) -> Self {
        self.response_limit = bytes;
        self
    }

    /// Sets the size of the largest body of a request with a key, in bytes: it is in memory as a whole
    /// before the handler runs. If the limit of the operation is smaller, that applies.
    #[must_use]
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets how many requests with a key may be in progress, as a whole and of one caller. Callers whose
    /// credentials were not checked have half of the whole together. The requests run to their end even
    /// if their callers hang up.
    #[must_use]
    pub fn in_progress(mut self, of_all: usize, of_one: usize) -> Self {
        self.places = Arc::new(Places::new(of_all, of_one));
        self
    }
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency")
            .field("response_limit", &self.response_limit)
            .field("body_limit", &self.body_limit)
            .finish_non_exhaustive()
    }
}

/// Returns how much of a bound for all callers those have together who are not known: half of it. The
/// bound for one caller does not stop them, since they can be as many callers as they like.
fn of_unknown(all: usize) -> usize {
    all.div_ceil(2)
}

/// Returns whether the contract gives an operation idempotency keys.
pub(super) fn has_keys(operation: &Operation) -> bool {
    operation.parameters.iter().any(|parameter| {
        parameter.location == Location::Header && parameter.name.eq_ignore_ascii_case(KEY.as_str())
    })
}
