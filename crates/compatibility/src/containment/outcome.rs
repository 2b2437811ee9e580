//! What a search for a value ends with.

use serde_json::Value;

/// The maximum number of parts and bytes of an array or object. Schemas that refer to each other
/// twice describe values that are larger by powers of two than the document.
pub(crate) const MOST_WEIGHT: usize = 30_000;
/// Why a search for an array or object is given up that is too large.
pub(crate) const HEAVY: &str = "values with many parts";

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

/// Returns the number of parts of a value and the bytes of its texts, together.
pub(crate) fn weigh(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len(),
        Value::Array(items) => 1 + items.iter().map(weigh).sum::<usize>(),
        Value::Object(entries) => {
            let parts = entries.iter().map(|(name, part)| name.len() + weigh(part));
            1 + parts.sum::<usize>()
        }
    }
}
