//! What a change of the contract means for Rust programs: whose source breaks, and the next versions
//! of the crates.

use ::policy::Policy;
use codegen::surface::{Crate, Surface, surface};
use compatibility::{Report, RustFinding, RustReport, compare_rust};
use contract::Contract;

use super::Arguments;

/// Those whose Rust source can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Side {
    /// Those who call the API with the generated types and client
    Callers,
    /// Those who implement the API with the generated types and server
    Implementers,
}

impl Side {
    /// Both sides, in order.
    pub(super) const ALL: [Self; 2] = [Self::Callers, Self::Implementers];

    /// Returns the name by which a policy lists the side.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Callers => "callers",
            Self::Implementers => "implementers",
        }
    }
}

/// The Rust verdicts of a comparison.
pub(super) struct Verdicts {
    pub(super) report: RustReport,
    /// The crates of the contract, each with the version that it needs if versions are semantic.
    pub(super) crates: Vec<(String, Option<String>)>,
    sides: Vec<Side>,
}

impl Verdicts {
    /// Returns whether a finding refuses the change, unless the policy accepts it.
    pub(super) fn gates(&self, finding: &RustFinding) -> bool {
        self.sides.iter().any(|side| match side {
            Side::Callers => finding.who.callers,
            Side::Implementers => finding.who.implementers,
        })
    }

    /// Returns the crates with the versions that they need, in words.
    pub(super) fn versions(&self) -> String {
        let needed: Vec<String> = self
            .crates
            .iter()
            .filter_map(|(name, needed)| Some(format!("{name} {}", needed.as_ref()?)))
            .collect();
        needed.join(", ")
    }
}

/// Parses the start of the names of crates.
pub(super) fn prefix(text: &str) -> Result<String, codegen::Error> {
    codegen::check_prefix(text).map(|()| text.to_owned())
}

/// What the crates of two contracts expose.
pub(super) struct Surfaces {
    pub(super) old: Surface,
    pub(super) new: Surface,
}

/// Compares the crates of two contracts.
pub(super) fn judge(
    arguments: &Arguments,
    policy: &Policy,
    surfaces: &Surfaces,
    wire: &Report,
) -> Verdicts {
    let Surfaces { old, new } = surfaces;
    let report = compare_rust(old, new);
    let is_changed = !wire.findings.is_empty();
    let is_there = |krate: Crate| new.items.values().any(|item| item.krate == krate);
    let crates = Crate::ALL.into_iter().filter(|krate| is_there(*krate));
    let crates = crates.map(|krate| {
        let step = report.step(krate, is_changed);
        let name = format!("{}-{}", arguments.name, krate.part());
        let needed = step.from(&wire.version.base);
        (name, needed.map(|needed| needed.to_string()))
    });
    Verdicts {
        crates: crates.collect(),
        sides: Side::ALL
            .into_iter()
            .filter(|side| arguments.gate.contains(side) || policy.gates(side.name()) == Some(true))
            .collect(),
        report,
    }
}

/// Returns what the crates of a contract expose.
pub(super) fn exposed(contract: &Contract, prefix: &str) -> Surface {
    let reversed = contract::reversed(contract);
    let (api, events) = codegen::lower_both(contract, reversed.as_ref(), prefix);
    surface(&api, events.as_ref())
}
