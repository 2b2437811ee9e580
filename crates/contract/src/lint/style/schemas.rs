//! Listed values that are hard to tell apart, and keywords that say nothing new.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;
use crate::model::{Dialect, Schema, SchemaId, SchemaKind};
use crate::node::Node;
use crate::number::compare;

/// Reports values of an `enum` that differ only by case or begin or end with a space, keywords that
/// others make idle, and defaults of required properties.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let schemas = context.contract.schemas.iter();
    for (schema, node) in schemas.zip(&context.origins.nodes) {
        padded(node, diagnostics);
        redundant(context, node, diagnostics);
        defaults(context, schema, node, diagnostics);
        let values = node.get("enum").and_then(Node::as_array);
        let mut seen: HashMap<String, &str> = HashMap::new();
        for value in values.unwrap_or_default() {
            let Some(text) = value.as_str() else { continue };
            let first = *seen.entry(text.to_lowercase()).or_insert(text);
            if first != text {
                diagnostics.push(
                    Diagnostic::warning(
                        "similar-values",
                        value.span,
                        format!("the values `{first}` and `{text}` differ only by case"),
                    )
                    .help("keep one of them"),
                );
            }
        }
    }
}

/// Reports listed values that begin or end with a space.
fn padded(node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let values = node.get("enum").and_then(Node::as_array);
    for value in values.unwrap_or_default().iter().chain(node.get("const")) {
        let Some(text) = value.as_str() else { continue };
        // A value of spaces alone is meant.
        if text.trim() != text && !text.trim().is_empty() {
            diagnostics.push(
                Diagnostic::warning(
                    "padded-value",
                    value.span,
                    format!("the value `{text}` begins or ends with a space"),
                )
                .help("remove the space"),
            );
        }
    }
}

/// Reports keywords that say nothing beside a narrower one.
fn redundant(context: &Context<'_, '_>, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    if context.contract.dialect == Dialect::V30 {
        return;
    }
    let mut report = |idle: &str, narrower: &str| {
        let Some(entry) = node.entry(idle) else {
            return;
        };
        diagnostics.push(
            Diagnostic::warning(
                "redundant-keyword",
                entry.key_span,
                format!("`{idle}` says nothing that `{narrower}` does not say"),
            )
            .help("remove one of them"),
        );
    };
    if node.get("const").is_some() {
        report("enum", "const");
    }
    for (plain, exclusive, narrower) in [
        ("minimum", "exclusiveMinimum", Ordering::Greater),
        ("maximum", "exclusiveMaximum", Ordering::Less),
    ] {
        let number = |key: &str| node.get(key).and_then(Node::as_number);
        if let (Some(one), Some(other)) = (number(plain), number(exclusive)) {
            if compare(one, other) == Some(narrower) {
                report(exclusive, plain);
            } else {
                report(plain, exclusive);
            }
        }
    }
}

/// Reports defaults of required properties, which never apply. One that its schema rejects is
/// dropped, and reported as such.
fn defaults(
    context: &Context<'_, '_>,
    schema: &Schema,
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let SchemaKind::Object(keywords) = &schema.kind else {
        return;
    };
    let has_default = |id: &SchemaId| {
        let property = &context.contract.schema(*id).kind;
        matches!(property, SchemaKind::Object(property) if property.default.is_some())
    };
    let required = node.get("required").and_then(Node::as_array);
    for name in required.unwrap_or_default().iter().filter_map(Node::as_str) {
        if !keywords.properties.get(name).is_some_and(has_default) {
            continue;
        }
        let property = node.get("properties").and_then(|all| all.get(name));
        if let Some(entry) = property.and_then(|property| property.entry("default")) {
            diagnostics.push(
                Diagnostic::warning(
                    "defaulted-required",
                    entry.key_span,
                    format!("`{name}` is required, so its default never applies"),
                )
                .help("remove it, or make the property optional"),
            );
        }
    }
}
