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

/// The rules about a reference or name that does not lead where it should. The component that it means is then
/// unused only because of that.
const LOST: &[&str] = &[
    "dangling-ref",
    "unknown-mapping",
    "unknown-security-scheme",
    "wrong-ref-kind",
    "mapping-no-branch",
];

/// The rules about a schema that accepts less than is meant, so that its examples do not fit either.
const TOO_STRICT: &[&str] = &[
    "bad-enum",
    "impossible-bounds",
    "impossible-required",
    "impossible-schema",
    "undeclared-required",
];

/// The rules about values of such a schema, which name the schema's keyword as related.
const OF_VALUES: &[&str] = &["bad-default", "bad-example"];

/// The maximum number of bytes between a keyword and what is wrong with it.
const MOST_BETWEEN: u32 = 2_000;

/// Removes the diagnostics that follow from others.
pub(super) fn keep_causes(sources: &Sources, diagnostics: &mut Vec<Diagnostic>) {
    let is_of = |codes: &[&str], one: &Diagnostic| codes.contains(&one.code);
    if diagnostics.iter().any(|one| is_of(LOST, one)) {
        diagnostics.retain(|one| one.code != "unused-component");
    }
    let causes: Vec<Span> = diagnostics
        .iter()
        .filter(|one| is_of(TOO_STRICT, one))
        .map(|one| one.span)
        .collect();
    diagnostics.retain(|one| {
        let mut places = one.related.iter().map(|(span, _)| span);
        // The key of the keyword that rejects a value stands before what is wrong with it:
        // `required` before the name in it, with no other key between.
        let follows = |place: &Span| {
            let mut causes = causes.iter();
            causes.any(|cause| {
                let near = place.start..place.start.saturating_add(MOST_BETWEEN);
                let between = Span {
                    end: cause.start,
                    ..*place
                };
                cause.file == place.file
                    && near.contains(&cause.start)
                    && sources.text(between).matches(':').count() < 2
            })
        };
        one.severity == Severity::Error || !is_of(OF_VALUES, one) || !places.any(follows)
    });
    let lost: Vec<&str> = diagnostics
        .iter()
        .flat_map(left_out)
        .map(|span| sources.text(span))
        .collect();
    diagnostics.retain(|diagnostic| {
        // Found by its name alone. What is left out wrongly comes back once the lines are mended.
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
