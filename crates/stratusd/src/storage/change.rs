//! Changes: the operations of the service that write, each in a transaction.

use super::{Aborted, Connection};

/// A type that holds an operation of the service that writes. Either all that it writes is
/// committed or nothing.
///
/// A store may call [`Change::apply`] more than once, because a concurrent change has committed
/// first or another change of the same batch has failed; at most the last call is committed. So
/// `apply` takes `&self` and must keep nothing from one call to the next.
pub trait Change: Send + Sync + 'static {
    /// The result of a committed change.
    type Output: Send + 'static;
    /// The reason why the change refuses to be done. Nothing is written then.
    type Refusal: Send + 'static;

    /// Whether a caller of the API asks for it. Changes of the service itself wait in a line of their
    /// own, so that the many changes of a project keep none of them out.
    const IS_OF_CALLER: bool = true;

    /// Applies the change in the transaction `tx`, which reads what earlier changes have committed.
    ///
    /// # Errors
    ///
    /// If the change refuses or the database fails. Everything that it wrote is then rolled back.
    fn apply(
        &self,
        tx: &mut Connection<'_>,
    ) -> impl Future<Output = Result<Self::Output, Aborted<Self::Refusal>>> + Send;
}
