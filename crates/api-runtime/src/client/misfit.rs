//! Why a body does not fit its type, in words that quote no value of it.

use std::fmt;

use crate::Violation;

/// Why a response body, or a part of it, does not fit its type: the operation, the part and the
/// rule that the part breaks.
///
/// A misfit can be logged. It names properties of the body, but never contains a value, which may
/// be a secret; [`Lenient::raw`](super::Lenient::raw) has the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    operation: Option<&'static str>,
    violation: Violation,
}

impl Misfit {
    pub(super) fn new(operation: Option<&'static str>, violation: Violation) -> Self {
        Self {
            operation,
            violation,
        }
    }

    /// Returns the method of the client that made the call, such as `pet_view`. Returns `None` for
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
        match self.pointer() {
            "" => write!(f, "the body {}", self.rule()),
            pointer => write!(f, "{pointer} {}", self.rule()),
        }
    }
}

impl std::error::Error for Misfit {}

/// Returns the violation of a body that `read` does not accept, or `None` if it accepts the body.
pub(super) fn violation(
    body: &[u8],
    read: impl Fn(&[u8]) -> serde_json::Result<()>,
) -> Option<Violation> {
    let (pointer, error) = crate::place::located(|| crate::lenient(|| read(body)))?;
    let message = rule(&error).unwrap_or_else(|| "does not fit its schema".to_owned());
    Some(Violation { pointer, message })
}

/// Returns the part of an error's message that does not quote the body, or `None` if the message
/// has no such part.
pub(super) fn rule(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    // The position is no part of the rule: the pointer says more.
    let text = text.split(" at line ").next().unwrap_or_default();
    if error.is_eof() {
        return Some("ends before its JSON does".to_owned());
    }
    if error.is_syntax() {
        return Some(match text {
            "recursion limit exceeded" => "is nested too deeply".to_owned(),
            _ => "is not JSON".to_owned(),
        });
    }
    if text.starts_with("missing required property `") {
        return Some("is required".to_owned());
    }
    if text.starts_with("duplicate property `") {
        return Some("is there twice".to_owned());
    }
    // Messages of the derives, which have only words of the contract.
    if ["must ", "property `", "missing field `"]
        .iter()
        .any(|start| text.starts_with(start))
    {
        return Some(text.to_owned());
    }
    // serde quotes the value of the body before these words, and only what it expected after them.
    let (_, expected) = text.rsplit_once(", expected ")?;
    Some(format!("must be {expected}"))
}
