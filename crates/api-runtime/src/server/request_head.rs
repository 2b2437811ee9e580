//! [`RequestHead`]: what a handler can know of its request beside its arguments.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use http::request::Parts;
use http::{Extensions, HeaderMap, Method, Uri};

#[cfg(feature = "idempotency")]
use super::idempotency::Once;
use super::rejection::{Rejection, RejectionKind};
use super::request_id::RequestId;
use super::route::{RouteFuture, RouteResult};

tokio::task_local! {
    /// The request that this task serves.
    static CURRENT: Current;
}

/// A request that is served.
struct Current {
    head: RequestHead,
    /// Whether its handler has called [`not_implemented`].
    is_not_implemented: Cell<bool>,
}

/// Ends the request with 501: for an operation that is not written yet, or a case of it. The body is
/// that of every rejection, in the contract's error schema.
///
/// What comes after it in the handler never runs.
///
/// # Panics
///
/// Outside of a request, such as in a task that a handler has spawned.
pub async fn not_implemented<T>() -> T {
    let is_marked = CURRENT.try_with(|current| current.is_not_implemented.set(true));
    assert!(
        is_marked.is_ok(),
        "`not_implemented` is called outside of a request"
    );
    // Who polls the handler sees the mark, and drops this future.
    std::future::pending().await
}

/// The head of a request, for handlers and checks of credentials that need more than their
/// arguments: any header, and what layers around the router have put into the extensions.
///
/// ```
/// # use api_runtime::server::RequestHead;
/// # use std::net::SocketAddr;
/// /// Set by a layer, or by `into_make_service_with_connect_info` as `ConnectInfo<SocketAddr>`.
/// #[derive(Clone, Copy)]
/// struct Peer(SocketAddr);
///
/// fn peer() -> Option<SocketAddr> {
///     let head = RequestHead::current()?;
///     head.extensions().get::<Peer>().map(|peer| peer.0)
/// }
/// # assert_eq!(peer(), None);
/// ```
///
/// Cheap to clone. Do not log it: headers and the query may have credentials.
#[derive(Clone)]
pub struct RequestHead {
    parts: Arc<Parts>,
    id: Option<RequestId>,
    /// What the request needs if it has an idempotency key.
    #[cfg(feature = "idempotency")]
    pub(super) once: Option<Arc<Once>>,
}

impl RequestHead {
    pub(super) fn new(parts: &Arc<Parts>) -> Self {
        Self {
            parts: Arc::clone(parts),
            id: RequestId::current(),
            #[cfg(feature = "idempotency")]
            once: None,
        }
    }

    /// Adds what the request needs if it has an idempotency key.
    #[cfg(feature = "idempotency")]
    pub(super) fn with_once(mut self, once: Option<Arc<Once>>) -> Self {
        self.once = once;
        self
    }

    /// Returns the head of the request whose credentials are checked or whose handler runs. Returns
    /// `None` outside of both, such as in a task that a handler has spawned.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|current| current.head.clone()).ok()
    }

    /// Makes this the current head while a route runs. A call of [`not_implemented`] ends the route.
    pub(super) fn scope(self, mut route: RouteFuture) -> impl Future<Output = RouteResult> {
        let current = Current {
            head: self,
            is_not_implemented: Cell::new(false),
        };
        let watched = poll_fn(move |context| match route.as_mut().poll(context) {
            Poll::Pending if CURRENT.with(|current| current.is_not_implemented.get()) => {
                let message = "the server does not implement this operation yet";
                let rejection = Rejection::new(RejectionKind::NotImplemented, message);
                Poll::Ready(Err(Box::new(rejection)))
            }
            polled => polled,
        });
        CURRENT.scope(current, watched)
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.parts.method
    }

    /// Returns the URI.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.parts.uri
    }

    /// Returns the headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Returns the extensions, in which layers around the router put what they know of a request.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// Returns the id of the request, which the response has in `x-request-id`.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
