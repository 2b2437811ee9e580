//! What a transaction does.

use super::{Aborted, Connection};

/// Something that happens as a whole or not at all.
pub trait Change: Send + Sync + 'static {
    /// What it answers when it is done.
    type Output: Send + 'static;
    /// Why it is not done.
    type Refusal: Send + 'static;

    /// Does it within a transaction. It may be called again, on a state that another change has left.
    fn apply(
        &self,
        tx: &mut Connection<'_>,
    ) -> impl Future<Output = Result<Self::Output, Aborted<Self::Refusal>>> + Send;
}
