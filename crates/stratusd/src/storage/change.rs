//! Changes: the operations that run in a transaction.

use super::{Aborted, Connection};

/// A type that holds an operation that writes, which is applied as a whole or not at all.
///
/// It may be applied more than once, because a concurrent change has committed first or another
/// change of its batch has failed. So a change takes `&self` and keeps nothing from one run to the
/// next.
pub trait Change: Send + Sync + 'static {
    /// The result of the change.
    type Output: Send + 'static;
    /// The reason why the change is not done.
    type Refusal: Send + 'static;

    /// Applies the change in a transaction, to the state that the changes before it have left.
    fn apply(
        &self,
        tx: &mut Connection<'_>,
    ) -> impl Future<Output = Result<Self::Output, Aborted<Self::Refusal>>> + Send;
}
