//! Why a call failed.

use serde_json::Value;

use super::super::refusal;
use super::super::settings::Settings;
use super::{CallError, Failure};

impl Failure {
    /// Returns the failure of a call.
    pub(in crate::cli) fn call(error: &CallError, settings: &Settings<'_>) -> Self {
        let words = error.to_string();
        match error {
            CallError::ErrorResponse(response) => {
                let status = response.status();
                let mut said = Value::clone(response);
                settings.hide(status, &mut said);
                let message = refusal::words(status, response.headers(), &said);
                Self::response(status.as_u16(), message)
            }
            CallError::InvalidRequest(_) => Self::usage(words),
            CallError::NoCredential(_) | CallError::Around(_) | CallError::Paging { .. } => {
                Self::other(words)
            }
            _ if error.is_timeout() => Self::transport(format!(
                "{words}; give the call more time with --timeout SECONDS"
            )),
            _ => {
                let words = with_causes(error, words);
                let origin = settings.sources.origin().ok().flatten().unwrap_or_default();
                Self::transport(format!(
                    "{words}; the API is called at {origin}, which --url changes"
                ))
            }
        }
    }
}

/// Returns the words of an error with those of its causes, which say what failed.
fn with_causes(error: &CallError, mut words: String) -> String {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let next = error.to_string();
        // Some errors repeat their cause.
        if !words.contains(&next) {
            words.push_str(&format!(": {next}"));
        }
        cause = error.source();
    }
    words
}
