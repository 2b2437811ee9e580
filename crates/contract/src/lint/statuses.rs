//! Statuses that YAML reads as integers.

use super::context::Context;
use crate::diagnostic::{Diagnostic, Edit};
use crate::node::{Entry, Node};

/// Reports the first status of a document that is written as an integer, which is once for the
/// document: it is written by a tool or by habit.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let statuses = context.origins.operations.iter().flat_map(|site| {
        let responses = site.node.get("responses").and_then(Node::as_object);
        responses.unwrap_or_default()
    });
    let plain = statuses.filter(|entry| {
        let is_number = entry.key.bytes().all(|byte| byte.is_ascii_digit());
        // A key in quotes has them in its span.
        is_number && context.sources.text(entry.key_span) == entry.key
    });
    let mut plain: Vec<&Entry> = plain.collect();
    plain.sort_by_key(|entry| entry.key_span);
    // A path item that several paths refer to is there for each of them.
    plain.dedup_by_key(|entry| entry.key_span);
    if let Some(first) = plain.first() {
        let edits = plain.iter().map(|entry| Edit {
            span: entry.key_span,
            replacement: format!("\"{}\"", entry.key),
        });
        diagnostics.push(Diagnostic {
            edits: edits.collect(),
            ..Diagnostic::warning(
                "integer-status",
                first.key_span,
                "a status must be a string, and YAML reads this as an integer",
            )
            .help(format!(
                "write \"{}\", in quotes, here and elsewhere",
                first.key
            ))
        });
    }
}
