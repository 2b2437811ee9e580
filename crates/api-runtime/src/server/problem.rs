//! Rejections as RFC 9457 problem details, for contracts without an error schema of their own.

use serde::Serialize;

use super::rejection::{Rejection, RenderRejection};

/// Renders rejections as `application/problem+json`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Problem;

/// A problem of RFC 9457.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ProblemBody {
    /// `about:blank`, since the status says everything.
    pub r#type: &'static str,
    /// The reason phrase of the status, such as `Not Found`.
    pub title: &'static str,
    /// The status.
    pub status: u16,
    /// One sentence on this occurrence.
    pub detail: String,
    /// The violations of the contract.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemDetail>,
}

/// A violation of the contract.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ProblemDetail {
    /// The part of the request that has the value: `path`, `query`, `header`, `cookie` or `body`.
    pub r#in: &'static str,
    /// The parameter's name, which is empty and left out for the body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The JSON pointer to the part of the value that is wrong. Empty for the whole value.
    pub pointer: String,
    /// The rule that is violated, such as `must be at most 5`.
    pub detail: String,
}

impl RenderRejection for Problem {
    type Body = ProblemBody;

    fn render(&self, rejection: &Rejection) -> ProblemBody {
        ProblemBody {
            r#type: "about:blank",
            title: rejection.status.canonical_reason().unwrap_or("Error"),
            status: rejection.status.as_u16(),
            detail: rejection.message.to_string(),
            errors: rejection
                .violations
                .iter()
                .map(|violation| ProblemDetail {
                    r#in: violation.location.as_str(),
                    name: violation.name.clone(),
                    pointer: violation.pointer.clone(),
                    detail: violation.message.clone(),
                })
                .collect(),
        }
    }

    fn content_type(&self) -> &'static str {
        "application/problem+json"
    }
}
