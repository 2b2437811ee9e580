//! Patterns that match a part of the text, and those that take exponential time in other engines.

use regex_syntax::hir::{Hir, HirKind, Look};

use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;

/// Reports patterns that are not about the whole text, and patterns with a repetition of what can
/// itself be repeated, on which engines that backtrack take exponential time.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in &context.origins.nodes {
        let Some(value) = node.get("pattern") else {
            continue;
        };
        let Some(pattern) = value.as_str() else {
            continue;
        };
        let Ok(translated) = jsonschema_regex::to_rust_regex(pattern) else {
            continue;
        };
        // Patterns that look around are not judged.
        let Ok(parsed) = regex_syntax::parse(&translated) else {
            continue;
        };
        let properties = parsed.properties();
        // One end is often left open on purpose, as for a prefix.
        let is_bound = properties.look_set().contains(Look::Start)
            || properties.look_set().contains(Look::End);
        if !is_bound {
            diagnostics.push(
                Diagnostic::warning(
                    "unanchored-pattern",
                    value.span,
                    "the pattern accepts every text with a part that matches",
                )
                .help("begin it with `^` and end it with `$`"),
            );
        }
        if is_exponential(&parsed, false) {
            diagnostics.push(
                Diagnostic::warning(
                    "backtracking-pattern",
                    value.span,
                    "engines that backtrack take exponential time for this pattern",
                )
                .help("do not repeat what is itself repeated, as in `(a+)+`"),
            );
        }
    }
}

/// Returns whether a part of a pattern repeats what can be split in several ways. `is_repeated` says
/// whether the part is itself in a repetition without an end.
fn is_exponential(hir: &Hir, is_repeated: bool) -> bool {
    match hir.kind() {
        HirKind::Repetition(repetition) => {
            let is_endless = repetition.max.is_none();
            (is_endless && is_repeated) || is_exponential(&repetition.sub, is_endless)
        }
        HirKind::Capture(capture) => is_exponential(&capture.sub, is_repeated),
        HirKind::Concat(parts) => {
            // Beside a part that always takes a character, a repetition ends at that one.
            let is_needed = |part: &Hir| part.properties().minimum_len() != Some(0);
            let is_alone = parts.iter().filter(|part| is_needed(part)).count() <= 1;
            parts.iter().any(|part| {
                let is_only = is_alone && (is_needed(part) || !parts.iter().any(is_needed));
                is_exponential(part, is_repeated && is_only)
            })
        }
        HirKind::Alternation(parts) => parts.iter().any(|part| is_exponential(part, is_repeated)),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}
