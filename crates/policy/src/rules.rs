//! The rules about the file itself.

use contract::rules::{self, Example, Rule};
use contract::{LintSet, Severity};

const EXAMPLE: Example = Example::None("it is about contract.toml, see docs/lint.md");

/// The rules about `contract.toml`, which no level changes.
pub const RULES: [Rule; 4] = [
    Rule {
        code: "policy-syntax",
        set: LintSet::Correct,
        severity: Severity::Error,
        summary: "`contract.toml` is not TOML, or has an unknown key or a value of the wrong type.",
        why: "A misspelt key would silently change nothing.",
        example: EXAMPLE,
    },
    Rule {
        code: "policy-value",
        set: LintSet::Correct,
        severity: Severity::Error,
        summary: "A value in `contract.toml` names what does not exist, or cannot be used.",
        why: "The entry would silently have no effect.",
        example: EXAMPLE,
    },
    Rule {
        code: "policy-idle",
        set: LintSet::Correct,
        severity: Severity::Error,
        summary: "An `ignore` or `approve` of `contract.toml` matches no finding, or an `in` no part of the contract.",
        why: "What it was written for is gone, or has moved; it would hide the next finding there.",
        example: EXAMPLE,
    },
    Rule {
        code: "policy-ended",
        set: LintSet::Correct,
        severity: Severity::Error,
        summary: "An `ignore` or `approve` of `contract.toml` has ended.",
        why: "Somebody has promised to decide again by that date.",
        example: EXAMPLE,
    },
];

/// Returns the rule with a code, of the contract or of this file.
#[must_use]
pub fn explain(code: &str) -> Option<&'static Rule> {
    static OWN: [Rule; 4] = RULES;
    rules::find(code).or_else(|| OWN.iter().find(|rule| rule.code == code))
}
