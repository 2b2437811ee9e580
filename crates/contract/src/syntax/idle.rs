//! Keywords and formats that have no effect on values of the schema's type.

use super::grammar::{SCHEMA, TYPES};
use super::walk::Walk;
use crate::format;
use crate::model::Dialect;
use crate::node::{Node, NodeValue};

/// The keywords that apply to certain types only: lists of types, each with its keywords.
static KEYWORDS: &[(&[&str], &[&str])] = &[
    (
        &["integer", "number"],
        &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
    ),
    (
        &["string"],
        &[
            "minLength",
            "maxLength",
            "pattern",
            "contentEncoding",
            "contentMediaType",
        ],
    ),
    (
        &["array"],
        &[
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "uniqueItems",
            "contains",
            "minContains",
            "maxContains",
            "unevaluatedItems",
        ],
    ),
    (
        &["object"],
        &[
            "properties",
            "required",
            "additionalProperties",
            "minProperties",
            "maxProperties",
            "patternProperties",
            "propertyNames",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedProperties",
        ],
    ),
];

/// Reports keywords and formats that apply only to other types than the schema's, and an
/// `x-extensible-enum` without anything that may grow.
pub(super) fn check(walk: &mut Walk<'_, '_>, node: &Node) {
    extensible(walk, node);
    let types: Vec<&str> = match node.get("type") {
        Some(list) if list.as_array().is_some() => list
            .as_array()
            .unwrap_or_default()
            .iter()
            .filter_map(Node::as_str)
            .collect(),
        Some(one) => one.as_str().into_iter().collect(),
        None => return nullable(walk, node),
    };
    // An unknown type has been reported, and its keywords may fit the type that was meant.
    if types.is_empty() || !types.iter().all(|name| TYPES.contains(name)) {
        return;
    }
    for entry in node.as_object().unwrap_or_default() {
        let about = KEYWORDS
            .iter()
            .find(|(_, keywords)| keywords.contains(&entry.key.as_str()));
        // A keyword of the other dialect has been reported as that.
        if let Some((about, _)) = about
            && SCHEMA
                .field(&entry.key)
                .is_some_and(|field| field.is_in(walk.dialect))
            && !types.iter().any(|name| about.contains(name))
            // `required: true` is meant for the property, and reported as that.
            && !(entry.key == "required" && entry.value.as_bool().is_some())
        {
            walk.warning(
                "idle-keyword",
                entry.key_span,
                format!(
                    "`{}` applies to {}, but the type is {}",
                    entry.key,
                    listed(about),
                    listed(&types)
                ),
                "remove it, or correct the `type`".to_owned(),
            );
        }
    }
    let format = node
        .get("format")
        .and_then(|format| Some((format.span, format.as_str()?)));
    if let Some((span, format)) = format
        && let Some(known) = format::lookup(format)
        && !known.types.is_empty()
        && !types.iter().any(|name| known.types.contains(name))
    {
        walk.warning(
            "idle-keyword",
            span,
            format!(
                "the format `{format}` applies to {}, but the type is {}",
                listed(known.types),
                listed(&types)
            ),
            "remove it, or correct the `type`".to_owned(),
        );
    }
}

/// Reports `x-extensible-enum` that is no truth value, or is beside no `enum` of strings. The list of
/// values that some guidelines have is meant for other tools.
fn extensible(walk: &mut Walk<'_, '_>, node: &Node) {
    let Some(entry) = node.entry("x-extensible-enum") else {
        return;
    };
    let is_text = |value: &Node| value.as_str().is_some() || matches!(value.value, NodeValue::Null);
    let values = node.get("enum").and_then(Node::as_array);
    // The values may be in what the schema is made of.
    let made_of = ["$ref", "allOf", "anyOf", "oneOf"];
    let (message, help) = match (entry.value.as_bool(), values) {
        (None, _) if entry.value.as_array().is_some() => return,
        (None, _) => (
            "is neither `true` nor `false`, and has no effect",
            "write `true`",
        ),
        (Some(true), Some(values)) if !values.iter().all(is_text) => (
            "has no effect: only an `enum` of strings can grow",
            "remove it, or list strings",
        ),
        (Some(true), None) if made_of.iter().all(|key| node.get(key).is_none()) => (
            "has no effect without an `enum`",
            "remove it, or add the `enum` that is meant",
        ),
        (Some(_), _) => return,
    };
    let message = format!("`x-extensible-enum` {message}");
    walk.warning("idle-keyword", entry.key_span, message, help.to_owned());
}

/// Reports `nullable` of 3.0 in a schema that takes any type, and so null, in any case.
fn nullable(walk: &mut Walk<'_, '_>, node: &Node) {
    let narrows = ["$ref", "allOf", "anyOf", "oneOf", "not", "enum"];
    let Some(entry) = node.entry("nullable") else {
        return;
    };
    if walk.dialect == Dialect::V30
        && entry.value.as_bool() == Some(true)
        && narrows.iter().all(|key| node.get(key).is_none())
    {
        walk.warning(
            "idle-keyword",
            entry.key_span,
            "`nullable` has no effect without a `type`".to_owned(),
            "add the `type` that is meant".to_owned(),
        );
    }
}

fn listed(types: &[&str]) -> String {
    format!("`{}`", types.join("` or `"))
}
