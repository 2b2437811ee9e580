//! References that lead to another kind of component than is wanted.

use super::grammar::{Grammar, Need, SCHEMA, Shape};
use super::walk::Walk;
use crate::diagnostic::Diagnostic;
use crate::node_ref::NodeRef;
use crate::source::Span;

/// The sections of `components`, each with the kind of object that it has.
const SECTIONS: [(&str, &str); 11] = [
    ("schemas", "a schema"),
    ("responses", "a response"),
    ("parameters", "a parameter"),
    ("examples", "an example"),
    ("requestBodies", "a request body"),
    ("headers", "a header"),
    ("securitySchemes", "a security scheme"),
    ("links", "a link"),
    ("callbacks", "a callback"),
    ("pathItems", "a path item"),
    ("mediaTypes", "a media type"),
];

/// Returns whether a reference leads to another kind of object than `shape`, and reports it.
pub(super) fn is_wrong(
    walk: &mut Walk<'_, '_>,
    span: Span,
    target: &NodeRef<'_>,
    shape: Shape,
) -> bool {
    let wanted: &Grammar = match shape {
        Shape::Object(grammar) => grammar,
        _ => &SCHEMA,
    };
    let document = &walk.resolver.documents.list[target.document];
    // Other files, such as those of a single schema, have their own structure.
    if document.root.get("openapi").is_none() {
        return false;
    }
    let own = document.pointer();
    let pointer = target.pointer.strip_prefix(&*own);
    let Some(found) = pointer.and_then(kind).filter(|found| *found != wanted.name) else {
        return false;
    };
    // Without a field that nothing can be generated without, the target is of no use at all.
    let is_useless = wanted
        .fields
        .iter()
        .any(|field| field.need == Need::Essential && target.node.get(field.name).is_none());
    let message = format!("`$ref` leads to {found}, and this must be {}", wanted.name);
    // The files are combined by the kinds that references want, so such a one would stay.
    let is_elsewhere = target.node.span.file != span.file;
    let diagnostic = if is_useless || is_elsewhere {
        Diagnostic::error("wrong-ref-kind", span, message)
    } else {
        Diagnostic::warning("wrong-ref-kind", span, message)
    };
    let section = SECTIONS.iter().find(|(_, kind)| *kind == wanted.name);
    walk.diagnostics.push(match section {
        Some((section, _)) => diagnostic.help(format!("refer to `#/components/{section}/…`")),
        None => diagnostic.help("write it out"),
    });
    true
}

/// Returns the kind of object at a pointer, if it is a component, a path item or an operation.
fn kind(pointer: &str) -> Option<&'static str> {
    let mut tokens = pointer.split('/').skip(1);
    let path = [
        tokens.next()?,
        tokens.next()?,
        tokens.next().unwrap_or_default(),
    ];
    if tokens.next().is_some() {
        return None;
    }
    match path {
        ["components", _, ""] => Some("a section of `components`"),
        ["components", section, _] => SECTIONS
            .iter()
            .find(|(name, _)| *name == section)
            .map(|(_, kind)| *kind),
        ["paths" | "webhooks", _, ""] => Some("a path item"),
        [
            "paths" | "webhooks",
            _,
            "get" | "put" | "post" | "delete" | "patch",
        ] => Some("an operation"),
        _ => None,
    }
}
