//! A rule that a JSON value breaks, and where in the value.

use std::fmt;

/// A rule of the schema that a JSON value breaks, in words, and where in the value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// JSON pointer (RFC 6901) to the part that breaks the rule; empty for the whole value.
    pub pointer: String,
    /// The rule, such as `must be at most 5`. Never contains the value, which may be a secret.
    pub message: String,
}

#[cfg(any(feature = "jsonschema", feature = "client"))]
impl Violation {
    /// Returns the violation that ends a list that was cut off, which says that there may be more.
    pub(crate) fn more() -> Self {
        Self {
            pointer: String::new(),
            message: "may break more rules than these".to_owned(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = if self.pointer.is_empty() {
            "the value"
        } else {
            &self.pointer
        };
        write!(f, "{subject}: {}", self.message)
    }
}
