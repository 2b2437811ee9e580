//! The kinds of crate that are generated from a contract.

/// A kind of crate that is generated from a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Types,
    Client,
    Server,
    /// The command line.
    Cli,
    /// The mock, for tests of callers.
    Mock,
}

impl Part {
    /// Returns the word for the kind, from which `CrateNames::package` makes the crate's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Types => "types",
            Self::Client => "client",
            Self::Server => "server",
            Self::Cli => "cli",
            Self::Mock => "mock",
        }
    }
}
