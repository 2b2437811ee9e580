//! Why a command failed, in words for people and as an exit code for scripts.

mod call;

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::Value;

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
