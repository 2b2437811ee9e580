//! What a command tells the shell.

use std::process::ExitCode;

/// How a command ended. Wrong arguments end with 2, which is clap's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Fresh,
    /// The document is wrong, or something could not be done.
    Failed,
    /// What was generated is not what the contract says.
    Stale,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fresh => 0,
            Exit::Failed => 1,
            Exit::Stale => 4,
        })
    }
}
