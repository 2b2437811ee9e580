//! Why a body does not fit its type, in words that quote no value of it.

use std::fmt;

use crate::Violation;
use crate::parts::PartError;
use crate::place::{Place, located, rule};

/// Why a response body, or a part of it, does not fit its type: the operation, the part and the
/// rule that the part breaks.
///
/// A misfit can be logged. What it prints has names of the contract alone: no value of the body and
/// no key of a map, either of which may be a secret. [`pointer`](Self::pointer) has such keys, and
/// [`Lenient::raw`](super::Lenient::raw) the values.
#[derive(Clone, PartialEq, Eq)]
pub struct Misfit {
    operation: Option<&'static str>,
    violation: Violation,
    /// The pointer without keys of the body.
    printed: String,
}

impl Misfit {
    pub(super) fn new(operation: Option<&'static str>, violation: Violation) -> Self {
        Self {
            operation,
            printed: violation.pointer.clone(),
            violation,
        }
    }

    /// Returns the misfit of a multipart body.
    pub(super) fn of_part(operation: Option<&'static str>, error: PartError) -> Self {
        Self {
            operation,
            violation: Violation {
                pointer: error.pointer,
                message: error.message,
            },
            printed: error.printed,
        }
    }

    /// Returns the misfit of a body that `read` does not accept.
    pub(super) fn of(
        operation: Option<&'static str>,
        body: &[u8],
        read: impl Fn(&[u8]) -> serde_json::Result<()>,
    ) -> Self {
        let (place, message) =
            find(body, read).unwrap_or_else(|| (Place::default(), UNKNOWN.to_owned()));
        Self {
            operation,
            violation: Violation {
                pointer: place.pointer,
                message,
            },
            printed: place.printed,
        }
    }

    /// Returns the misfit as one of a larger body, whose part at a pointer has been read.
    pub(super) fn within(mut self, pointer: &str) -> Self {
        self.violation.pointer.insert_str(0, pointer);
        self.printed.insert_str(0, pointer);
        self
    }

    /// Returns the pointer without keys of the body, for logs.
    pub(super) fn printed(&self) -> &str {
        &self.printed
    }

    /// Returns the id of the operation in the contract, such as `pet_view`. Returns `None` for
    /// the data of an event, which belongs to no call.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.operation
    }

    /// Returns the JSON pointer (RFC 6901) to the part of the body that does not fit; empty for the
    /// whole body. A part inside a union is not located: the pointer leads to the union.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.violation.pointer
    }

    /// Returns the rule that the part breaks, such as `is required` or `must be at most 5`.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.violation.message
    }

    /// Returns the part and its rule.
    #[must_use]
    pub fn violation(&self) -> &Violation {
        &self.violation
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response")?;
        if let Some(operation) = self.operation {
            write!(f, " of `{operation}`")?;
        }
        f.write_str(" does not fit its type: ")?;
        match self.printed() {
            "" => write!(f, "the body {}", self.rule()),
            pointer => write!(f, "{pointer} {}", self.rule()),
        }
    }
}

impl fmt::Debug for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Misfit")
            .field("operation", &self.operation)
            .field("pointer", &self.printed)
            .field("rule", &self.rule())
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Misfit {}

/// The rule of a misfit whose error says nothing that may be printed.
const UNKNOWN: &str = "does not fit its schema";

/// Returns the violation of a body that `read` does not accept, or `None` if it accepts the body.
pub(super) fn violation(
    body: &[u8],
    read: impl Fn(&[u8]) -> serde_json::Result<()>,
) -> Option<Violation> {
    let (place, message) = find(body, read)?;
    Some(Violation {
        pointer: place.pointer,
        message,
    })
}

fn find(body: &[u8], read: impl Fn(&[u8]) -> serde_json::Result<()>) -> Option<(Place, String)> {
    let (place, error) = located(|| crate::lenient(|| read(body)))?;
    Some((place, rule(&error).unwrap_or_else(|| UNKNOWN.to_owned())))
}
