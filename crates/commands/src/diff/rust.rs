//! What a change of the contract means for Rust programs: whose source breaks, and the next versions
//! of the crates.

use std::collections::BTreeSet;

use ::policy::Policy;
use codegen::surface::{Crate, Surface, surface};
use compatibility::{Report, RustFinding, RustReport, compare_rust};
use contract::Contract;

use super::Arguments;
use crate::versions::{Both, CrateVersion, of_crate};

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
    /// The crates of the contract, each with the version that it needs.
    pub(super) crates: Vec<CrateVersion>,
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
        let crates = self.crates.iter();
        let needed = crates.map(|one| format!("{} {}", one.name, one.needed));
        needed.collect::<Vec<_>>().join(", ")
    }

    /// Returns the crates whose versions are too low, with these, in words.
    pub(super) fn low(&self) -> String {
        let low = self.crates.iter().filter(|one| !one.is_enough());
        let low = low.map(|one| format!("{} {}", one.name, one.now));
        low.collect::<Vec<_>>().join(", ")
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
    let report = compare_rust(&surfaces.old, &surfaces.new);
    Verdicts {
        crates: versions(arguments, surfaces, wire, &report),
        sides: Side::ALL
            .into_iter()
            .filter(|side| arguments.gate.contains(side) || policy.gates(side.name()) == Some(true))
            .collect(),
        report,
    }
}

/// Returns the crates of a contract, each with the version that it has and the one that it needs.
pub(super) fn versions(
    arguments: &Arguments,
    surfaces: &Surfaces,
    wire: &Report,
    report: &RustReport,
) -> Vec<CrateVersion> {
    let is_changed = !wire.findings.is_empty();
    let items = surfaces.new.items.values();
    let there: BTreeSet<Crate> = items.map(|item| item.krate).collect();
    let Both { before, after } = arguments.declared.as_ref();
    let crates = there.into_iter().map(|krate| {
        let old = of_crate(before, krate, &wire.version.base);
        let step = report.step(krate, is_changed);
        CrateVersion {
            krate,
            name: format!("{}-{}", arguments.name, krate.part()),
            now: of_crate(after, krate, &wire.version.revision),
            needed: step.after(&old),
        }
    });
    crates.collect()
}

/// Returns what the crates of a contract expose.
pub(super) fn exposed(contract: &Contract, prefix: &str) -> Surface {
    let reversed = contract::reversed(contract);
    let (api, events) = codegen::lower_both(contract, reversed.as_ref(), prefix);
    surface(&api, events.as_ref())
}
