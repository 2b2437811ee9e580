//! Operation ids, tags, and parameters that are declared twice.

use std::collections::{HashMap, HashSet};

use super::context::Context;
use crate::build::OperationSite;
use crate::diagnostic::Diagnostic;
use crate::node::Node;
use crate::node_ref::address;
use crate::source::Span;
use crate::spelling::nearest;

/// Reports operation ids that are empty or used twice, links to unknown operation ids, undeclared
/// and repeated tags, and parameters that are declared twice in one list.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let ids = ids(&context.origins.operations, diagnostics);
    for (name, span) in &context.syntax.named {
        if !ids.contains_key(name) {
            diagnostics.push(
                Diagnostic::warning(
                    "unknown-operation",
                    *span,
                    format!("the link names an operation `{name}`, which does not exist"),
                )
                .help(suggestion(name, &ids)),
            );
        }
    }
    tags(
        context.resolver.root().node,
        &context.origins.operations,
        diagnostics,
    );
    repeated_tags(&context.origins.operations, diagnostics);
    for (name, span) in context
        .origins
        .operations
        .iter()
        .flat_map(|site| &site.duplicates)
    {
        diagnostics.push(
            Diagnostic::error(
                "duplicate-parameter",
                *span,
                format!("the parameter `{name}` is declared twice in the same list"),
            )
            .help("remove one of them"),
        );
    }
}

fn suggestion(name: &str, ids: &HashMap<&str, First>) -> String {
    let mut known: Vec<&str> = ids.keys().copied().collect();
    known.sort_unstable();
    match nearest(name, known.into_iter()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "write the operationId of an operation".to_owned(),
    }
}

/// The first operation with an id.
struct First {
    /// The span of the id.
    span: Span,
    /// The span of the key that its path item has.
    path_span: Span,
    /// The address of the operation, which several paths can have.
    operation: usize,
}

fn ids<'a>(
    sites: &[OperationSite<'a>],
    diagnostics: &mut Vec<Diagnostic>,
) -> HashMap<&'a str, First> {
    let mut ids: HashMap<&'a str, First> = HashMap::new();
    let mut callbacks = HashSet::new();
    for site in sites {
        // A callback component that several operations use is one operation.
        if site.template.is_none() && !callbacks.insert(address(site.node)) {
            continue;
        }
        let Some(node) = site.node.get("operationId") else {
            continue;
        };
        let Some(id) = node.as_str() else { continue };
        if id.is_empty() {
            diagnostics.push(
                Diagnostic::warning("empty-operation-id", node.span, "the operationId is empty")
                    .help("write a name, or remove it to have one derived"),
            );
            continue;
        }
        if let Some(why) = uncallable(id) {
            diagnostics.push(
                Diagnostic::warning("bad-operation-id", node.span, why)
                    .help("begin with a letter, and write letters, digits, `_` and `-`"),
            );
        }
        match ids.get(id) {
            None => {
                let first = First {
                    span: node.span,
                    path_span: site.path_span,
                    operation: address(site.node),
                };
                ids.insert(id, first);
            }
            Some(first) => diagnostics.push(used_twice(id, node.span, site, first)),
        }
    }
    ids
}

/// Returns the diagnostic about an operation with the id of another one.
fn used_twice(id: &str, span: Span, site: &OperationSite<'_>, first: &First) -> Diagnostic {
    let code = "duplicate-operation-id";
    if first.operation == address(site.node) {
        let message = format!(
            "the operation id `{id}` is used twice, since this path and another have one path item"
        );
        return Diagnostic::error(code, site.path_span, message)
            .about(id)
            .part(id)
            .help("give each path a path item of its own, with other operation ids")
            .related(first.path_span, "the other path");
    }
    let found = Diagnostic::error(code, span, format!("the operation id `{id}` is used twice"))
        .about(id)
        .help("give each operation an id of its own");
    // What an alias of YAML repeats, or a path item of another file, is one text.
    if first.span == span {
        found.related(first.path_span, "the other path")
    } else {
        found.related(first.span, "the other operation")
    }
}

/// Returns why no program can have an operation id as a name.
fn uncallable(id: &str) -> Option<&'static str> {
    // Separators that other tools take for those between words.
    let is_separator = |char: char| "_-./:~#$@|,;+*=()[]{}&".contains(char);
    let is_legal = |char: char| char.is_alphanumeric() || is_separator(char);
    if !id.chars().any(char::is_alphabetic) {
        Some("the operationId has no letter, so no language has it as a name")
    } else if id.starts_with(|first: char| first.is_numeric()) {
        Some("the operationId begins with a digit, so no language has it as a name")
    } else if !id.chars().all(is_legal) {
        Some("the operationId has characters that no language has in a name")
    } else {
        None
    }
}

/// Reports tags that an operation has twice.
fn repeated_tags(sites: &[OperationSite<'_>], diagnostics: &mut Vec<Diagnostic>) {
    for site in sites {
        let tags = site.node.get("tags").and_then(Node::as_array);
        let mut seen = HashSet::new();
        for tag in tags.unwrap_or_default() {
            if let Some(name) = tag.as_str()
                && !seen.insert(name)
            {
                diagnostics.push(
                    Diagnostic::warning(
                        "duplicate-tag",
                        tag.span,
                        format!("the operation has the tag `{name}` twice"),
                    )
                    .help("remove one of them"),
                );
            }
        }
    }
}

fn tags(root: &Node, sites: &[OperationSite<'_>], diagnostics: &mut Vec<Diagnostic>) {
    // The list is optional. Without one, nothing says which tags are right.
    let Some(list) = root.get("tags").and_then(Node::as_array) else {
        return;
    };
    let mut declared = HashSet::new();
    for tag in list {
        if let Some(node) = tag.get("name")
            && let Some(name) = node.as_str()
            && !declared.insert(name)
        {
            diagnostics.push(
                Diagnostic::warning(
                    "duplicate-tag",
                    node.span,
                    format!("the tag `{name}` is declared twice"),
                )
                .help("remove one of them"),
            );
        }
    }
    let mut known: Vec<&str> = declared.iter().copied().collect();
    known.sort_unstable();
    for site in sites {
        for tag in site
            .node
            .get("tags")
            .and_then(Node::as_array)
            .unwrap_or_default()
        {
            let Some(name) = tag.as_str().filter(|name| !declared.contains(name)) else {
                continue;
            };
            diagnostics.push(
                Diagnostic::warning(
                    "undeclared-tag",
                    tag.span,
                    format!("the tag `{name}` is not in the document's list of tags"),
                )
                .help(match nearest(name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "add it to `tags` at the top level".to_owned(),
                }),
            );
        }
    }
}
