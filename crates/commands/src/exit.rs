//! The exit codes of commands.

use std::process::ExitCode;

/// The result of a command. clap itself exits with 2 on wrong arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Fresh,
    /// The document is wrong, or the command could not do its work.
    Failed,
    /// The generated crates differ from what the contract yields.
    Stale,
    /// A change of the contract is refused.
    Refused,
}

impl Exit {
    /// Returns the result of two commands: the worse one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed, _) | (_, Self::Failed) => Self::Failed,
            (Self::Fresh, other) => other,
            (one, _) => one,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fresh => 0,
            Exit::Failed => 1,
            Exit::Stale => 4,
            Exit::Refused => 5,
        })
    }
}
