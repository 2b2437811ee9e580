//! What is wrong with a JSON value, and where.

use std::fmt;

/// One rule that a value breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer (RFC 6901) to the value; empty for the whole.
    pub pointer: String,
    /// The rule, in words, without the value.
    pub message: String,
}

#[cfg(feature = "jsonschema")]
impl Violation {
    /// Says that not all of them are told.
    pub(crate) fn more() -> Self {
        Self {
            pointer: String::new(),
            message: "may break more rules than these".to_owned(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() {
            "the value"
        } else {
            &self.pointer
        };
        write!(f, "{place}: {}", self.message)
    }
}
