//! [`RequestHead`]: what a handler can know of its request beside its arguments.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{Extensions, HeaderMap, Method, Uri};

use super::request_id::RequestId;

tokio::task_local! {
    /// The head of the request that this task serves.
    static CURRENT: RequestHead;
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
}

impl RequestHead {
    pub(super) fn new(parts: &Arc<Parts>) -> Self {
        Self {
            parts: Arc::clone(parts),
            id: RequestId::current(),
        }
    }

    /// Returns the head of the request whose credentials are checked or whose handler runs. Returns
    /// `None` outside of both, such as in a task that a handler has spawned.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Makes this the current head while a future runs.
    pub(super) fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, future)
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
