//! The kinds of crate that are generated from a contract.

use crate::surface::Crate;

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

    /// Returns the crate whose version a crate of this kind has. `is_reversed` says that it is for
    /// webhooks and callbacks.
    pub(super) fn krate(self, is_reversed: bool) -> Crate {
        match self {
            Self::Types => Crate::Types,
            Self::Client if is_reversed => Crate::Sender,
            Self::Server if is_reversed => Crate::Receiver,
            Self::Client | Self::Cli => Crate::Client,
            Self::Server | Self::Mock => Crate::Server,
        }
    }
}
