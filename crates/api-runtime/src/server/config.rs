//! The settings of a router.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use futures_util::future::BoxFuture;
use http::request::Parts;
use tracing::Span;

use super::body::Limits;
use super::cross_origin::Origins;
#[cfg(feature = "idempotency")]
use super::idempotency::Idempotency;
use super::next::{Around, Next};
use super::operation::Operation;
use super::request_id::{self, RequestId};
use super::route::RouteResult;
use super::traces::Join;
use crate::trace_context::TraceContext;

/// The size of the largest head that is accepted by default: 64 KiB.
const HEAD_LIMIT: usize = 64 << 10;
/// The size of the largest body that is accepted by default: 1 MiB.
const BODY_LIMIT: usize = 1 << 20;
/// The time in which a body must arrive by default.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Settings of a router.
#[derive(Clone)]
pub struct Config {
    pub(super) head_limit: usize,
    pub(super) body_limit: usize,
    pub(super) body_limits: HashMap<String, usize>,
    pub(super) body_timeout: Option<Duration>,
    pub(super) requires_host: bool,
    pub(super) serves_contract: bool,
    #[cfg(feature = "docs")]
    pub(super) serves_docs: bool,
    pub(super) origins: Option<Origins>,
    pub(super) conditional_gets: bool,
    #[cfg(feature = "idempotency")]
    pub(super) idempotency: Option<Arc<Idempotency>>,
    pub(super) around: Option<Around>,
    pub(super) traces: Option<Join>,
    pub(super) request_ids: Arc<dyn Fn() -> RequestId + Send + Sync>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            head_limit: HEAD_LIMIT,
            body_limit: BODY_LIMIT,
            body_limits: HashMap::new(),
            body_timeout: Some(BODY_TIMEOUT),
            requires_host: false,
            serves_contract: true,
            #[cfg(feature = "docs")]
            serves_docs: false,
            origins: None,
            conditional_gets: false,
            #[cfg(feature = "idempotency")]
            idempotency: None,
            around: None,
            traces: None,
            request_ids: Arc::new(request_id::generator()),
        }
    }
}

impl Config {
    /// Creates the default settings: heads up to 64 KiB, bodies up to 1 MiB, which arrive within 30 seconds, and the
    /// contract at `/openapi.json` and `/openapi.yaml`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the size of the largest head, in bytes: method, target, and names and values of headers.
    /// A larger one is rejected with 431.
    ///
    /// The HTTP server has a limit of its own, above which its response has no body.
    #[must_use]
    pub fn head_limit(mut self, bytes: usize) -> Self {
        self.head_limit = bytes;
        self
    }

    /// Sets the size of the largest body, in bytes.
    #[must_use]
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets the size of the largest body of one operation, such as an upload, in bytes.
    #[must_use]
    pub fn body_limit_of(mut self, operation_id: &str, bytes: usize) -> Self {
        self.body_limits.insert(operation_id.to_owned(), bytes);
        self
    }

    /// Sets the time in which a whole body must arrive, unless a handler reads it as a stream.
    #[must_use]
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.body_timeout = Some(time);
        self
    }

    /// Lets a body take any time to arrive.
    #[must_use]
    pub fn without_body_timeout(mut self) -> Self {
        self.body_timeout = None;
        self
    }

    /// Rejects a request of HTTP/1.1 without a `Host` header, as RFC 9112 demands of servers on a
    /// network. By default it is accepted, because requests that do not come from a network, such
    /// as those of tests, rarely have one.
    ///
    /// An invalid `Host`, or a second one, is always rejected.
    #[must_use]
    pub fn requires_host(mut self) -> Self {
        self.requires_host = true;
        self
    }

    /// Switches `/openapi.json` and `/openapi.yaml` off.
    #[must_use]
    pub fn without_contract(mut self) -> Self {
        self.serves_contract = false;
        self
    }

    /// Serves the reference page of the API at `/docs/`, on which people can read the contract and
    /// call this server, and at `/` where the page and the contract are. Both need no credentials,
    /// as the contract. A path of the contract comes first.
    ///
    /// The page is Swagger UI, whose files are in the program: browsers load nothing from elsewhere.
    /// It shows `/openapi.json`, so there is none together with
    /// [`without_contract`](Self::without_contract).
    #[cfg(feature = "docs")]
    #[must_use]
    pub fn docs(mut self) -> Self {
        self.serves_docs = true;
        self
    }

    /// Lets pages of these origins call the API from a browser. Without this, none can.
    #[must_use]
    pub fn origins(mut self, origins: Origins) -> Self {
        self.origins = Some(origins);
        self
    }

    /// Responds with 304 to a `GET` or `HEAD` whose `If-None-Match` has the entity tag of the response
    /// (RFC 9110, section 13.1.2), in the operations whose responses have an `ETag`. Without this,
    /// `If-None-Match` is for the handlers alone.
    ///
    /// The handler runs all the same, so this saves the bytes of the body and not the work.
    #[must_use]
    pub fn conditional_gets(mut self) -> Self {
        self.conditional_gets = true;
        self
    }

    /// Runs a request that is sent again with the same `Idempotency-Key` only once, in the operations
    /// that have this header parameter. Without this, the key is for the handlers alone.
    ///
    /// A key belongs to the caller and to the operation: see
    /// [`idempotency_scope`](super::idempotency_scope). A repeat with the same path, query, body,
    /// content type and header parameters gets the response to the first request, with the header
    /// `Idempotency-Replayed: true`. Conditions and ids of requests and traces may differ.
    ///
    /// - Another request with the key is rejected with 422, or with 409 if the operation lists 409 and
    ///   not 422.
    /// - While the first request is in progress, a repeat is rejected with 409 and `Retry-After`.
    /// - Successes and redirections are kept. After an error or a panic, the key is as good as new.
    /// - Once its key is claimed, a request runs to its end, even if its caller hangs up.
    /// - If the store fails, the request is rejected with 503, and the handler does not run.
    ///
    /// The key and what the handler changes are not stored together: if the process ends between the
    /// two, a repeat is done again. A service that needs more stores the key in the transaction of the
    /// change, in its handlers.
    #[cfg(feature = "idempotency")]
    #[must_use]
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.idempotency = Some(Arc::new(idempotency));
        self
    }

    /// Runs a function around every request whose head is accepted, such as one that limits how many
    /// requests are in progress. The function runs the rest of the router, or rejects the request.
    ///
    /// Unlike a layer around the router, it runs inside what every response needs: request ids and
    /// the headers for other origins. The body that it gets is received to its end if it is dropped.
    ///
    /// The function cannot choose another operation by another path: axum has chosen the route before, with
    /// its layers. Rewrite paths in a service around the router.
    #[must_use]
    pub fn around(
        mut self,
        run: impl for<'n> Fn(Request, Next<'n>) -> BoxFuture<'n, RouteResult> + Send + Sync + 'static,
    ) -> Self {
        self.around = Some(Arc::new(run));
        self
    }

    /// Joins each request to the trace of its caller. Without this, `traceparent` and `tracestate`
    /// are ignored.
    ///
    /// The run time makes a span for each request to an operation, in which credentials are checked
    /// and the handler runs. The function gets this span before it is entered, the head of the
    /// request, and the context of the caller's span, if the request has a valid `traceparent`. It
    /// makes one the parent of the other, and returns the context of the request's span.
    ///
    /// If the function panics, the request is served without a trace.
    ///
    /// The context is in the extensions of the response, and its trace id is in the field
    /// `trace_id` of the span, and so in the log. The other fields have the names that OpenTelemetry
    /// gives to the attributes of HTTP servers.
    ///
    /// Any tracing system can be used. With tracing-opentelemetry, the function is:
    ///
    /// ```text
    /// |span, _, caller| {
    ///     if let Some(caller) = caller {
    ///         let parent = SpanContext::new(
    ///             TraceId::from(caller.trace_id()),
    ///             SpanId::from(caller.span_id()),
    ///             TraceFlags::new(caller.flags()),
    ///             true,
    ///             TraceState::from_str(caller.state()).unwrap_or_default(),
    ///         );
    ///         let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    ///     }
    ///     let context = span.context();
    ///     let own = context.span().span_context().clone();
    ///     TraceContext::new(
    ///         u128::from_be_bytes(own.trace_id().to_bytes()),
    ///         u64::from_be_bytes(own.span_id().to_bytes()),
    ///         own.trace_flags().to_u8(),
    ///     )
    /// }
    /// ```
    ///
    /// To have the trace ids of callers in the log and nothing else, return the caller's context:
    ///
    /// ```
    /// # use api_runtime::server::Config;
    /// let config = Config::new().traces(|_, _, caller| caller.cloned());
    /// ```
    #[must_use]
    pub fn traces(
        mut self,
        join: impl Fn(&Span, &Parts, Option<&TraceContext>) -> Option<TraceContext>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.traces = Some(Arc::new(join));
        self
    }

    /// Sets the generator of request ids, for tests or for ids that sort.
    #[must_use]
    pub fn request_ids(mut self, make: impl Fn() -> RequestId + Send + Sync + 'static) -> Self {
        self.request_ids = Arc::new(make);
        self
    }

    /// Returns what the body of an operation may take.
    pub(super) fn limits(&self, operation: &Operation) -> Limits {
        let bytes = self
            .body_limits
            .get(operation.id)
            .copied()
            .unwrap_or(self.body_limit);
        Limits {
            bytes,
            time: self.body_timeout,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("head_limit", &self.head_limit)
            .field("body_limit", &self.body_limit)
            .field("body_limits", &self.body_limits)
            .field("body_timeout", &self.body_timeout)
            .field("requires_host", &self.requires_host)
            .field("serves_contract", &self.serves_contract)
            .field("origins", &self.origins)
            .field("conditional_gets", &self.conditional_gets)
            .finish_non_exhaustive()
    }
}
