//! Leaves out diagnostics that follow from others, so that one cause is reported once.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::{Diagnostic, Severity};
use crate::read::left_out;
use crate::source::{Sources, Span};

/// The rules about something that is absent. If lines of a document were left out that have its name,
/// it may be there.
const ABSENT: &[&str] = &[
    "bad-expression",
    "dangling-ref",
    "discriminator-property",
    "discriminator-value",
    "impossible-required",
    "integer-status",
    "mapping-no-branch",
    "missing-keyword",
    "missing-responses",
    "missing-success",
    "path-parameter-undeclared",
    "path-parameter-unused",
    "unapplied-encoding",
    "undeclared-required",
    "undeclared-scope",
    "undeclared-server-variable",
    "undeclared-tag",
    "unknown-link-parameter",
    "unknown-mapping",
    "unknown-operation",
    "unknown-security-scheme",
    "unknown-tag",
    "unused-component",
    "unused-server-variable",
    "unused-tag",
];

/// Pairs of rules about one place: a diagnostic of the first makes one of the second a consequence.
const CONSEQUENCES: &[(&str, &str)] = &[
    ("bad-default", "ambiguous-scalar"),
    ("ambiguous-scalar", "bad-enum"),
    ("ambiguous-scalar", "bad-example"),
];

/// Removes the diagnostics that follow from others.
pub(super) fn keep_causes(sources: &Sources, diagnostics: &mut Vec<Diagnostic>) {
    let lost: Vec<&str> = diagnostics
        .iter()
        .flat_map(left_out)
        .map(|span| sources.text(span))
        .collect();
    diagnostics.retain(|diagnostic| {
        !ABSENT.contains(&diagnostic.code)
            || !lost
                .iter()
                .any(|text| names(diagnostic).any(|name| text.contains(name)))
    });
    let mut at: HashMap<Span, HashSet<&'static str>> = HashMap::new();
    for diagnostic in diagnostics.iter() {
        at.entry(diagnostic.span)
            .or_default()
            .insert(diagnostic.code);
    }
    diagnostics.retain(|diagnostic| {
        let beside = &at[&diagnostic.span];
        let is_consequence =
            |(cause, effect): &(&str, &str)| *effect == diagnostic.code && beside.contains(cause);
        diagnostic.severity == Severity::Error && diagnostic.code != "ambiguous-scalar"
            || !CONSEQUENCES.iter().any(is_consequence)
    });
}

/// Returns the names in the message of a diagnostic: of a path or reference, the last part.
fn names(diagnostic: &Diagnostic) -> impl Iterator<Item = &str> {
    let quoted = diagnostic.message.split('`').skip(1).step_by(2);
    quoted
        .map(|name| name.rsplit('/').next().unwrap_or_default())
        .map(|name| name.trim_matches(['{', '}']))
        .filter(|name| !name.is_empty())
}
