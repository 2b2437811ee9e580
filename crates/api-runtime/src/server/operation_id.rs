//! The id of the operation that a request is for: a label for metrics.

use std::sync::{Arc, OnceLock};

use http::Extensions;

/// The id of the operation that made a response, in the response's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OperationId(pub &'static str);

/// Where the router notes the operation of a request, for a layer that also counts requests which end
/// without a response, such as because their caller has gone away. The layer puts a clone into the
/// extensions of the request.
///
/// ```
/// # use api_runtime::server::OperationSlot;
/// # let mut request = http::Request::new(());
/// let slot = OperationSlot::default();
/// request.extensions_mut().insert(slot.clone());
/// // Later, also if the request is gone:
/// let label = slot.get().map_or("none", |id| id.0);
/// # assert_eq!(label, "none");
/// ```
#[derive(Debug, Clone, Default)]
pub struct OperationSlot(Arc<OnceLock<OperationId>>);

impl OperationSlot {
    /// Returns the operation of the request; `None` if it has none, or has not come that far.
    #[must_use]
    pub fn get(&self) -> Option<OperationId> {
        self.0.get().copied()
    }

    /// Notes the operation of a request, if the request has a slot for it.
    pub(super) fn fill(extensions: &Extensions, id: OperationId) {
        if let Some(Self(slot)) = extensions.get() {
            // A request that comes to several routers keeps the first one.
            let _ = slot.set(id);
        }
    }
}
