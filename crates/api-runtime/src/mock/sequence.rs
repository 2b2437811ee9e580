//! The order between expectations.

use std::sync::Arc;

/// An order between expectations, of one operation or of several.
///
/// An expectation of a sequence accepts a request once those before it have had the requests that
/// they ask for, and no longer once one after it has had a request. It expects one request, unless
/// it says another number.
#[derive(Debug, Clone, Default)]
pub struct Sequence(Arc<Identity>);

/// What tells sequences apart: the address of its allocation. A type of size zero would have none of
/// its own.
#[derive(Debug, Default)]
struct Identity(#[expect(dead_code, reason = "only its address counts")] u8);

impl Sequence {
    /// Creates a sequence.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether both are the same sequence.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
