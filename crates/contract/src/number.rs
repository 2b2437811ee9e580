//! Numbers of a document, compared without rounding where they are integers.

use std::cmp::Ordering;

use serde_json::Number;

/// Which of two numbers is more; integers beyond 2^53 differ though they are the same as floats.
#[must_use]
pub fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}
