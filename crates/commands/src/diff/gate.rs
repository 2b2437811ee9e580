//! Decides which findings refuse a change: on the wire by their kind, and in Rust source by whom
//! they break; the policy accepts some.

use ::policy::{Change, Date, Judge, Judged, Policy};
use compatibility::{Finding, Kind, Report, RustFinding};

use super::Document;
use super::rust::Verdicts;

/// Why findings refuse a change or do not, in the order of the report.
pub(super) struct Gate {
    pub(super) wire: Vec<Judged>,
    pub(super) rust: Vec<Judged>,
}

/// What the findings are judged by.
pub(super) struct Rules<'a> {
    pub(super) policy: &'a Policy,
    /// The kinds that the command line allows.
    pub(super) allowed: &'a [Kind],
    pub(super) today: Date,
}

impl Gate {
    /// Judges the findings of a comparison.
    pub(super) fn of(
        rules: &Rules<'_>,
        report: &Report,
        rust: &Verdicts,
        (base, revision): (&Document, &Document),
    ) -> Self {
        let before = (&base.contract, &base.sources);
        let judge = Judge::new(rules.policy, rules.today, before, &revision.sources);
        let wire = report.findings.iter().map(|finding| {
            let gates = rules.policy.gates(&finding.kind.name());
            let gates = gates.unwrap_or_else(|| finding.kind.is_gating());
            judge.judge(&wire(
                finding,
                gates && !rules.allowed.contains(&finding.kind),
            ))
        });
        let source = rust.report.findings.iter();
        let source = source.map(|finding| judge.judge(&self::rust(finding, rust.gates(finding))));
        Self {
            wire: wire.collect(),
            rust: source.collect(),
        }
    }

    /// Returns whether a finding refuses the change.
    pub(super) fn refuses(&self) -> bool {
        self.all().any(|judged| judged.refuses)
    }

    /// Returns the fingerprints of all findings.
    pub(super) fn fingerprints(&self) -> Vec<String> {
        self.all().map(|one| one.fingerprint.clone()).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Judged> {
        self.wire.iter().chain(&self.rust)
    }
}

fn wire(finding: &Finding, gates: bool) -> Change<'_> {
    Change {
        gates,
        rule: finding.rule,
        message: &finding.message,
        base: finding.base,
        revision: finding.revision,
        operations: &finding.operations,
    }
}

fn rust(finding: &RustFinding, gates: bool) -> Change<'_> {
    Change {
        gates,
        rule: finding.rule,
        message: &finding.message,
        base: finding.base,
        revision: finding.revision,
        operations: &finding.operations,
    }
}
