//! What a search for a value ends with.

use serde_json::Value;

/// The result of a search for a value that fulfils some conditions.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// There is such a value.
    Value(Value),
    /// There is certainly none.
    Nothing,
    /// Whether there is one was not found out, because of this.
    Unknown(&'static str),
}
