//! Misspelt sections of the document. Every reference into such a section would fail, and the cause
//! would be lost among those diagnostics.

use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::{Node, NodeValue};
use crate::spelling::nearest;
use crate::syntax::{COMPONENTS, DOCUMENT, Grammar, misspelt};

/// Reports misspelt sections at the top level and in `components`, and corrects them, so that the
/// rest is checked as if they were spelt right.
pub(crate) fn correct_sections(
    root: &mut Node,
    dialect: Dialect,
    diagnostics: &mut Vec<Diagnostic>,
) {
    correct(root, &DOCUMENT, dialect, diagnostics);
    let NodeValue::Object(entries) = &mut root.value else {
        return;
    };
    if let Some(components) = entries.iter_mut().find(|entry| entry.key == "components") {
        correct(&mut components.value, &COMPONENTS, dialect, diagnostics);
    }
}

fn correct(
    node: &mut Node,
    grammar: &'static Grammar,
    dialect: Dialect,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let NodeValue::Object(entries) = &mut node.value else {
        return;
    };
    let known = || {
        grammar
            .fields
            .iter()
            .filter(|field| field.is_in(dialect))
            .map(|field| field.name)
    };
    let mut present: Vec<&str> = known()
        .filter(|name| entries.iter().any(|entry| entry.key == *name))
        .collect();
    for entry in entries {
        if entry.key.starts_with("x-") || grammar.field(&entry.key).is_some() {
            continue;
        }
        let Some(meant) = nearest(&entry.key, known()) else {
            continue;
        };
        // Renaming it would give the object two equal keys. It is reported later as unknown.
        if present.contains(&meant) {
            continue;
        }
        present.push(meant);
        diagnostics.push(Diagnostic {
            code: "misspelt-section",
            ..misspelt(&entry.key, meant, grammar, entry.key_span)
        });
        meant.clone_into(&mut entry.key);
    }
}
