//! Components that no operation uses.

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::node_ref::address;
use crate::reach::used_components;

/// The sections of `components`, each with the word for one member.
const SECTIONS: [(&str, &str); 11] = [
    ("schemas", "schema"),
    ("responses", "response"),
    ("parameters", "parameter"),
    ("examples", "example"),
    ("requestBodies", "request body"),
    ("headers", "header"),
    ("securitySchemes", "security scheme"),
    ("links", "link"),
    ("callbacks", "callback"),
    ("pathItems", "path item"),
    ("mediaTypes", "media type"),
];

/// Reports components that nothing uses. A document without operations is a library for other
/// documents, so all of it counts as used.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root();
    if context.contract.operations.is_empty() && context.contract.webhooks.is_empty() {
        return;
    }
    let Some(components) = root.key("components") else {
        return;
    };
    let used = used_components(context.resolver);
    for (section, word) in SECTIONS {
        let Some(at) = components.key(section) else {
            continue;
        };
        for (entry, at) in at.entries() {
            if !used.contains(&address(at.node)) {
                diagnostics.push(
                    Diagnostic::warning(
                        "unused-component",
                        entry.key_span,
                        format!("the {word} `{}` is never used", entry.key),
                    )
                    .help("remove it, or refer to it"),
                );
            }
        }
    }
}
