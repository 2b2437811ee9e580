//! Compares numbers of a document without rounding integers.

use std::cmp::Ordering;

use serde_json::Number;

/// Compares two numbers: as integers if both are, otherwise as floats.
///
/// As floats alone, distinct integers beyond 2^53 would be equal.
#[must_use]
pub fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}
