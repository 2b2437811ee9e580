//! Compares what the generated crates of two contracts offer to Rust programs.
//!
//! A program that was written against the crates of the old contract must compile against those of
//! the new one. The surfaces come from `codegen`, from the same lowered API that it writes crates
//! from, so nothing is generated or compiled. What follows from one cause in the document is one
//! finding.

mod change;
mod group;
mod items;
mod members;

use codegen::surface::{Crate, Surface};
use contract::source::Span;

use crate::finding::Step;

/// What a change of a contract means for Rust programs.
#[derive(Debug, Clone, Default)]
pub struct RustReport {
    /// The changes that break somebody's source, by position.
    pub findings: Vec<RustFinding>,
    /// The crates that offer more than before.
    pub extended: Vec<Crate>,
}

/// A change that breaks the source of Rust programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RustFinding {
    /// The rule, a stable name in kebab-case such as `rust-removed`.
    pub rule: &'static str,
    /// The item or member, such as `api_types::Vm::size`.
    pub item: String,
    /// The message: what has changed, in one sentence without a full stop.
    pub message: String,
    /// Whose source breaks.
    pub who: Who,
    /// The crates that change incompatibly.
    pub crates: Vec<Crate>,
    /// The span in the contract before the change, if the part is there.
    pub base: Option<Span>,
    /// The span in the contract after the change, if the part is there.
    pub revision: Option<Span>,
    /// The operations that the change reaches, sorted.
    pub operations: Vec<String>,
}

/// Whose source a change breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Who {
    /// Those who call the API with the types and the client.
    pub callers: bool,
    /// Those who implement the API with the types and the server.
    pub implementers: bool,
}

impl Who {
    /// Returns who it is in words, such as `callers`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match (self.callers, self.implementers) {
            (true, true) => "callers and implementers",
            (true, false) => "callers",
            (false, true) => "implementers",
            (false, false) => "nobody",
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            callers: self.callers || other.callers,
            implementers: self.implementers || other.implementers,
        }
    }
}

impl RustReport {
    /// Returns whether a change breaks those who name items of a crate.
    #[must_use]
    pub fn breaks(&self, krate: Crate) -> bool {
        let mut crates = self.findings.iter().flat_map(|finding| &finding.crates);
        crates.any(|broken| *broken == krate)
    }

    /// Returns how far the version of a crate has to rise. Each crate shows the types, so it has to
    /// rise as far as that of the types crate. `is_changed` says that the contract has changed on
    /// the wire.
    #[must_use]
    pub fn step(&self, krate: Crate, is_changed: bool) -> Step {
        let crates = [krate, Crate::Types];
        if crates.iter().any(|krate| self.breaks(*krate)) {
            Step::Breaking
        } else if crates.iter().any(|krate| self.extended.contains(krate)) {
            Step::Addition
        } else if is_changed {
            Step::Patch
        } else {
            Step::Nothing
        }
    }
}

/// Compares the surfaces of the crates of a contract and of a later revision of it.
#[must_use]
pub fn compare_rust(base: &Surface, revision: &Surface) -> RustReport {
    let comparison = items::Items::new(base, revision);
    RustReport {
        findings: group::findings(&comparison, comparison.changes()),
        extended: comparison.extended(),
    }
}
