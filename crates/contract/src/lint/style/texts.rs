//! Texts for readers that say nothing, say too much, or hold code.

use std::collections::HashSet;

use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;
use crate::node::{Node, NodeValue};
use crate::node_ref::{NodeRef, address};

/// The maximum number of characters of a summary, which stands in one line.
const MOST_SUMMARY: usize = 120;

/// Reports summaries that are no line, empty descriptions of responses, and texts with code that a
/// browser may run.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = HashSet::new();
    for site in &context.origins.operations {
        // A callback component that several operations use is one operation.
        if !seen.insert(address(site.node)) {
            continue;
        }
        summary(site.node, diagnostics);
        let operation = NodeRef {
            document: site.document,
            node: site.node,
            pointer: "".into(),
        };
        let responses = operation.key("responses");
        for (_, response) in responses.iter().flat_map(NodeRef::entries) {
            if let Some(response) = context.resolver.follow(&response)
                && seen.insert(address(response.node))
            {
                description(response.node, diagnostics);
            }
        }
    }
    code(context.resolver.root().node, diagnostics);
}

fn summary(operation: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let Some(value) = operation.get("summary") else {
        return;
    };
    let text = value.as_str().unwrap_or_default();
    if text.chars().count() > MOST_SUMMARY || text.trim_end().contains('\n') {
        diagnostics.push(
            Diagnostic::warning(
                "long-summary",
                value.span,
                format!("a summary is one line of at most {MOST_SUMMARY} characters"),
            )
            .help("move what is more to `description`"),
        );
    }
}

fn description(response: &Node, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(value) = response.get("description")
        && value.as_str().is_some_and(|text| text.trim().is_empty())
    {
        diagnostics.push(
            Diagnostic::warning(
                "empty-description",
                value.span,
                "the description of the response is empty",
            )
            .help("say when the response is sent"),
        );
    }
}

/// The fields whose values are no texts for readers, at any depth.
const VALUES: [&str; 5] = ["default", "enum", "const", "example", "examples"];

/// Reports texts with code that a page may run which shows them.
fn code(root: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        match &node.value {
            NodeValue::Array(items) => pending.extend(items),
            NodeValue::Object(entries) => {
                for entry in entries {
                    let key = entry.key.as_str();
                    if VALUES.contains(&key) || key.starts_with("x-") {
                        continue;
                    }
                    if matches!(key, "description" | "summary" | "title")
                        && let Some(text) = entry.value.as_str()
                        && let Some(found) = runnable(text)
                    {
                        diagnostics.push(
                            Diagnostic::warning(
                                "script-in-text",
                                entry.value.span,
                                format!(
                                    "the text has `{found}`, which a page that shows it may run"
                                ),
                            )
                            .help("remove it, or write it as code, between backquotes"),
                        );
                    }
                    pending.push(&entry.value);
                }
            }
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => {}
        }
    }
}

/// Returns the first thing in a text that a browser runs, outside of Markdown's code.
fn runnable(text: &str) -> Option<&'static str> {
    // Every second part is between backquotes, or between fences of three.
    let prose: String = text.split('`').step_by(2).collect();
    let lower = prose.to_ascii_lowercase();
    ["<script", "javascript:", "eval("]
        .into_iter()
        .find(|code| lower.contains(code))
}
