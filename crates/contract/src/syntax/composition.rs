//! Keywords of schemas that say nothing, or say the same twice: branches, lists of types, and
//! keywords that need another.

use std::collections::HashSet;

use super::walk::Walk;
use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::{Entry, Node};
use crate::node_ref::address;

/// Checks the parts that a schema is composed of, its types, and keywords that need another.
pub(super) fn check(walk: &mut Walk<'_, '_>, node: &Node) {
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(entry) = node.entry(key) {
            branches(walk, entry);
        }
    }
    types(walk, node);
    if node.get("readOnly").and_then(Node::as_bool) == Some(true)
        && let Some(entry) = node.entry("writeOnly")
        && entry.value.as_bool() == Some(true)
    {
        walk.warning(
            "contradicting-fields",
            entry.key_span,
            "what is both `readOnly` and `writeOnly` is never sent".to_owned(),
            "remove one of them".to_owned(),
        );
    }
    if walk.dialect >= Dialect::V31 {
        companions(walk, node);
    }
}

fn branches(walk: &mut Walk<'_, '_>, entry: &Entry) {
    let Some(parts) = entry.value.as_array() else {
        return;
    };
    let key = &entry.key;
    if parts.is_empty() {
        return walk.warning(
            "empty-composition",
            entry.key_span,
            format!("`{key}` must have at least one schema"),
            "add one, or remove it".to_owned(),
        );
    }
    let mut seen = HashSet::new();
    for part in parts {
        if seen.insert(part.to_json().to_string()) {
            continue;
        }
        let message = match key.as_str() {
            // What both accept is accepted twice, and so not at all.
            "oneOf" => "`oneOf` has the same schema twice, so no value of it is accepted",
            "anyOf" => "`anyOf` has the same schema twice",
            _ => "`allOf` has the same schema twice",
        };
        walk.warning(
            "duplicate-branch",
            part.span,
            message.to_owned(),
            "remove one of them".to_owned(),
        );
    }
}

fn types(walk: &mut Walk<'_, '_>, node: &Node) {
    let list = node.get("type").and_then(Node::as_array);
    let mut seen = HashSet::new();
    for value in list.unwrap_or_default() {
        if let Some(name) = value.as_str()
            && !seen.insert(name)
        {
            walk.warning(
                "duplicate-type",
                value.span,
                format!("the type `{name}` is listed twice"),
                "remove one of them".to_owned(),
            );
        }
    }
}

/// Keywords that have no effect without another one.
const COMPANIONS: [(&str, &[&str]); 6] = [
    (
        "if",
        &["then", "else", "unevaluatedProperties", "unevaluatedItems"],
    ),
    ("then", &["if"]),
    ("else", &["if"]),
    ("minContains", &["contains"]),
    ("maxContains", &["contains"]),
    ("contentSchema", &["contentMediaType"]),
];

fn companions(walk: &mut Walk<'_, '_>, node: &Node) {
    for (key, others) in COMPANIONS {
        if let Some(entry) = node.entry(key)
            && others.iter().all(|other| node.get(other).is_none())
        {
            let others = others.join("` or `");
            let message = format!("`{key}` has no effect without `{others}`");
            let found = Diagnostic::warning("idle-keyword", entry.key_span, message)
                .help(format!("add `{others}`, or remove it"));
            if key == "contentSchema" {
                // The data of an event is JSON unless its media type says otherwise.
                walk.of_contents.push((address(node), found));
            } else {
                walk.diagnostics.push(found);
            }
        }
    }
}
