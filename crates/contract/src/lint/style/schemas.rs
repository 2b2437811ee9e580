//! Listed values that are hard to tell apart.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;
use crate::node::Node;

/// Reports values of an `enum` that differ only by case.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in &context.origins.nodes {
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
