//! The paging convention: whether it is complete, and names existing parameters and properties.

use std::collections::BTreeSet;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Location, Operation, SchemaId, SchemaKind, StatusKey};
use crate::node::Node;
use crate::spelling::nearest;

/// The fields of `x-paging`, and whether each is required.
const FIELDS: [(&str, bool); 6] = [
    ("start_after", true),
    ("page_size", true),
    ("order_column", false),
    ("items", true),
    ("count", false),
    ("key", true),
];

/// Reports unknown, missing and wrongly typed fields of `x-paging`, and names in it that no
/// parameter or property has.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    let Some(entry) = root.entry("x-paging") else {
        return;
    };
    let Some(fields) = entry.value.as_object() else {
        diagnostics.push(
            Diagnostic::error(
                "bad-paging",
                entry.value.span,
                format!("`x-paging` must be an object, not {}", entry.value.kind()),
            )
            .help("name the parameters and properties that lists have in common"),
        );
        return;
    };
    for field in fields {
        if FIELDS.iter().all(|(name, _)| *name != field.key) {
            let known = FIELDS.iter().map(|(name, _)| *name);
            diagnostics.push(
                Diagnostic::error(
                    "misspelt-keyword",
                    field.key_span,
                    format!("`x-paging` has no `{}`", field.key),
                )
                .help(match nearest(&field.key, known) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "remove it".to_owned(),
                }),
            );
        } else if field.value.as_str().is_none() {
            diagnostics.push(
                Diagnostic::error(
                    "wrong-type",
                    field.value.span,
                    format!(
                        "`{}` must be a string, not {}",
                        field.key,
                        field.value.kind()
                    ),
                )
                .help("write the name of a parameter or property"),
            );
        }
    }
    for (name, needed) in FIELDS {
        if needed && entry.value.get(name).is_none() {
            diagnostics.push(
                Diagnostic::error(
                    "bad-paging",
                    entry.key_span,
                    format!("`x-paging` needs `{name}`"),
                )
                .help(format!("add `{name}`")),
            );
        }
    }
    names(context.contract, &entry.value, diagnostics);
}

fn names(contract: &Contract, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let Some(paging) = &contract.paging else {
        return;
    };
    let mut queries = BTreeSet::new();
    let mut properties = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for operation in &contract.operations {
        let own: Vec<&str> = operation
            .parameters
            .iter()
            .filter(|parameter| parameter.location == Location::Query)
            .map(|parameter| parameter.name.as_str())
            .collect();
        // This parameter is what makes an operation a list in pages.
        if own.contains(&paging.start_after.as_str()) {
            pages(
                contract,
                operation,
                &paging.items,
                &mut properties,
                &mut keys,
            );
        }
        queries.extend(own);
    }
    for (field, known, what) in [
        ("start_after", &queries, "query parameter"),
        ("page_size", &queries, "query parameter"),
        ("order_column", &queries, "query parameter"),
        ("items", &properties, "property of a list's response"),
        ("count", &properties, "property of a list's response"),
        ("key", &keys, "property of an item"),
    ] {
        let Some(value) = node.get(field) else {
            continue;
        };
        let Some(name) = value.as_str().filter(|name| !known.contains(name)) else {
            continue;
        };
        diagnostics.push(
            Diagnostic::error(
                "bad-paging",
                value.span,
                format!("`{name}` is not a {what} in this document"),
            )
            .help(match nearest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("write the name of a {what}"),
            }),
        );
    }
}

/// Adds the property names of an operation's successful responses to `properties`, and those of the
/// items in their property `items` to `keys`.
fn pages<'c>(
    contract: &'c Contract,
    operation: &'c Operation,
    items: &str,
    properties: &mut BTreeSet<&'c str>,
    keys: &mut BTreeSet<&'c str>,
) {
    let successes = operation.responses.iter().filter(|response| {
        matches!(
            response.status,
            StatusKey::Code(200..=299) | StatusKey::Range(2)
        )
    });
    for schema in successes
        .flat_map(|response| &response.content)
        .filter_map(|media| media.schema)
    {
        for (name, property) in properties_of(contract, schema) {
            properties.insert(name);
            if name == items
                && let SchemaKind::Object(list) = &contract.schema(contract.resolve(property)).kind
                && let Some(item) = list.items
            {
                keys.extend(
                    properties_of(contract, item)
                        .into_iter()
                        .map(|(name, _)| name),
                );
            }
        }
    }
}

/// Returns the properties of a schema, including those of the schemas in its `allOf`.
fn properties_of(contract: &Contract, id: SchemaId) -> Vec<(&str, SchemaId)> {
    let mut found = Vec::new();
    // `allOf` can lead back to a schema.
    let mut seen = BTreeSet::new();
    let mut pending = vec![id];
    while let Some(id) = pending.pop() {
        let id = contract.resolve(id);
        if let SchemaKind::Object(keywords) = &contract.schema(id).kind
            && seen.insert(id)
        {
            let own = keywords.properties.iter();
            found.extend(own.map(|(name, id)| (name.as_str(), *id)));
            pending.extend(&keywords.all_of);
        }
    }
    found
}
