//! What an operation promises of its changes: the extension `x-stability`.

use crate::model::{Contract, Operation};

/// How far callers may rely on an operation, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// It may change at any time.
    Draft,
    /// It may change with a notice.
    Beta,
    /// It does not change for its callers.
    Stable,
}

impl Stability {
    /// Every stability, in order.
    pub const ALL: [Self; 3] = [Self::Draft, Self::Beta, Self::Stable];

    /// Returns the stability with a name, as in `x-stability: beta`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the stability of an operation. One that says nothing is stable.
    #[must_use]
    pub fn of(contract: &Contract, operation: &Operation) -> Self {
        let pointer = format!("{}/x-stability", operation.pointer);
        let written = contract.document.part(&pointer);
        let named = written.and_then(|written| Self::named(written.as_str()?));
        named.unwrap_or(Self::Stable)
    }

    /// Returns the name, such as `beta`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Beta => "beta",
            Self::Stable => "stable",
        }
    }
}
