//! Changes that are accepted although they are of a kind that refuses a change.

use std::ops::Range;

use contract::{Diagnostic, Sources, Stability};
use sha2::{Digest as _, Sha256};
use toml::value::Date;

use crate::file::Approve;
use crate::read::{Policy, nearest, span};

/// A change that is accepted for a time.
#[derive(Debug)]
pub struct Approval {
    /// The fingerprint of the finding.
    pub finding: String,
    /// The reason.
    pub reason: String,
    /// Who has approved it.
    pub by: String,
    /// The last day on which it is accepted.
    pub until: Date,
    at: Range<usize>,
    until_at: Range<usize>,
}

impl Approval {
    pub(crate) fn of(approve: Approve) -> Self {
        Self {
            at: approve.finding.span(),
            until_at: approve.until.span(),
            finding: approve.finding.into_inner(),
            reason: approve.reason.into_inner(),
            by: approve.by.into_inner(),
            until: approve.until.into_inner(),
        }
    }
}

/// Returns the fingerprint of a finding: 12 hexadecimal digits that depend on these parts alone.
pub(crate) fn fingerprint(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // The length keeps `["ab", "c"]` apart from `["a", "bc"]`.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let bytes = hash.finalize();
    bytes
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Policy {
    /// Returns whether findings of a kind refuse a change, or `None` if the policy does not say.
    #[must_use]
    pub fn gates(&self, kind: &str) -> Option<bool> {
        let gate = self.gate.as_ref()?;
        Some(gate.iter().any(|(name, _)| name == kind))
    }

    /// Returns whether changes of an operation with a stability refuse nothing.
    #[must_use]
    pub fn is_ungated(&self, stability: Stability) -> bool {
        match &self.ungated {
            Some(levels) => levels.contains(&stability),
            None => stability == Stability::Draft,
        }
    }

    /// Returns whether what is deprecated may be removed from the date of its sunset on.
    #[must_use]
    pub fn allows_sunset(&self) -> bool {
        self.sunset.unwrap_or(true)
    }

    /// Returns the approval of a finding that is valid on a day.
    #[must_use]
    pub fn approval(&self, fingerprint: &str, today: Date) -> Option<&Approval> {
        let mut approvals = self.approvals.iter();
        approvals.find(|approval| approval.finding == fingerprint && today <= approval.until)
    }

    /// Returns what is wrong with the part about changes: kinds that do not exist, and approvals
    /// that match none of the findings or have ended. The text of the policy is added to `sources`.
    #[must_use]
    pub fn check_changes(
        &self,
        sources: &mut Sources,
        kinds: &[String],
        findings: &[String],
        today: Date,
    ) -> Vec<Diagnostic> {
        let file = self.source(sources);
        let mut wrong = Vec::new();
        for (kind, at) in self.gate.iter().flatten() {
            if kinds.contains(kind) {
                continue;
            }
            let meant = nearest(kind, kinds.iter().map(String::as_str));
            let message = format!("there is no kind `{kind}` of findings");
            let found = Diagnostic::error("policy-value", span(file, at), message);
            wrong.push(found.help(match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("write `{}`", kinds.join("`, `")),
            }));
        }
        for approval in &self.approvals {
            if approval.until < today {
                let message = format!("this has ended on {}", approval.until);
                let at = span(file, &approval.until_at);
                wrong.push(
                    Diagnostic::error("policy-ended", at, message)
                        .help("remove the entry if the change is published, or decide again"),
                );
            } else if !findings.contains(&approval.finding) && !self.has_several_contracts() {
                let message = format!("no finding has the fingerprint `{}`", approval.finding);
                wrong.push(
                    Diagnostic::error("policy-idle", span(file, &approval.at), message)
                        .help("remove the entry if the change is published or gone"),
                );
            }
        }
        wrong
    }
}
