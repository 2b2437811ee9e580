//! Why a command failed, in words for people and as an exit code for scripts.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::Value;

use super::refusal;
use super::settings::Settings;

/// The exit code of any failure that has no other.
const OTHER: u8 = 1;
/// The exit code of wrong arguments. Nothing was sent.
pub(super) const USAGE: u8 = 2;
/// The exit code of a 4XX response.
const REFUSED: u8 = 4;
/// The exit code of a 5XX response.
const BROKEN: u8 = 5;
/// The exit code of a call without a response.
const TRANSPORT: u8 = 6;
/// The exit code of `--wait`, if it ended without the value that it waits for.
const WAITED: u8 = 7;

/// Why a command failed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// Returns the failure of wrong arguments.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// Returns the failure of a response with an error status.
    pub(super) fn response(status: u16, message: impl Into<String>) -> Self {
        let code = match status {
            400..=499 => REFUSED,
            500..=599 => BROKEN,
            _ => OTHER,
        };
        Self::new(code, message)
    }

    /// Returns the failure of a call without a response.
    pub(super) fn transport(message: impl Into<String>) -> Self {
        Self::new(TRANSPORT, message)
    }

    /// Returns the failure of waiting.
    pub(super) fn waited(message: impl Into<String>) -> Self {
        Self::new(WAITED, message)
    }

    /// Returns any other failure.
    pub(super) fn other(message: impl Into<String>) -> Self {
        Self::new(OTHER, message)
    }

    /// Returns the failure of writing to the standard output.
    pub(super) fn output(error: &io::Error) -> Self {
        // Who reads the output has seen enough, as `head` has.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(0, "");
        }
        Self::other(format!("the output cannot be written: {error}"))
    }

    /// Returns the failure of a call.
    pub(super) fn call(error: &CallError, settings: &Settings<'_>) -> Self {
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

    fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Returns the message.
    #[cfg(feature = "mcp")]
    pub(super) fn into_message(self) -> String {
        self.message
    }

    /// Prints the message and returns the exit code.
    pub(super) fn report(self) -> ExitCode {
        if self.code != 0 {
            // There is nowhere else to say that this fails.
            let _ = writeln!(io::stderr(), "error: {}", self.message);
        }
        ExitCode::from(self.code)
    }
}

/// The error of a call, with the error body as JSON.
pub(super) type CallError = crate::client::Error<Value>;

/// Returns the words of an error with those of its causes, which say what failed.
fn with_causes(error: &CallError, mut words: String) -> String {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let next = error.to_string();
        if !words.contains(&next) {
            words.push_str(&format!(": {next}"));
        }
        cause = error.source();
    }
    words
}
