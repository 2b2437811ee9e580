//! Paths that name actions, or nothing that can be called.

use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;
use crate::model::split_label;
use crate::node::{Entry, Node};

/// The methods that paths repeat.
const VERBS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// Reports paths with a method in a segment, paths without an operation, and a document without
/// servers.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    let paths = root.get("paths").and_then(Node::as_object);
    for entry in paths.unwrap_or_default() {
        if !entry.key.starts_with("x-") {
            verb(entry, diagnostics);
            empty(entry, diagnostics);
        }
    }
    servers(root, diagnostics);
}

fn verb(entry: &Entry, diagnostics: &mut Vec<Diagnostic>) {
    let segments = split_label(&entry.key).0.split('/');
    let found = segments.filter_map(|segment| {
        let verb = VERBS.into_iter().find(|verb| begins_with(segment, verb))?;
        Some((segment, verb))
    });
    for (segment, verb) in found {
        diagnostics.push(
            Diagnostic::warning(
                "verb-in-path",
                entry.key_span,
                format!(
                    "the segment `{segment}` repeats the method {}",
                    verb.to_uppercase()
                ),
            )
            .help("name the thing that is called, and leave what happens to the method"),
        );
    }
}

/// Returns whether the first word of a segment is a method, as in `get`, `get-pets` and `getPets`.
fn begins_with(segment: &str, verb: &str) -> bool {
    let Some((first, rest)) = segment.split_at_checked(verb.len()) else {
        return false;
    };
    // `post` alone is a thing too.
    let is_word = rest.starts_with(|next: char| next.is_ascii_uppercase() || "-_".contains(next));
    first.eq_ignore_ascii_case(verb) && (is_word || (rest.is_empty() && verb == "get"))
}

fn empty(entry: &Entry, diagnostics: &mut Vec<Diagnostic>) {
    if entry.value.as_object().is_some_and(<[Entry]>::is_empty) {
        diagnostics.push(
            Diagnostic::warning(
                "empty-path",
                entry.key_span,
                "the path has no operation, so nothing can be called there",
            )
            .help("add an operation, or remove the path"),
        );
    }
}

fn servers(root: &Node, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(entry) = root.entry("servers")
        && entry.value.as_array().is_some_and(<[Node]>::is_empty)
    {
        diagnostics.push(
            Diagnostic::warning(
                "missing-servers",
                entry.key_span,
                "the list of servers is empty, so readers do not know where the API is",
            )
            .help("add the URL of a server"),
        );
    }
}
