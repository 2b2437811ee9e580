//! The kinds of crate that a contract has.

/// The kinds of crate that a contract has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Types,
    Client,
    Server,
}

impl Part {
    /// Returns what follows the prefix in the crate's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Types => "types",
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}
