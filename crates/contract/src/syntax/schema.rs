//! What the tables cannot express about a schema: types, values that are listed twice, required
//! properties, dynamic references.

use std::collections::HashSet;

use super::encodings::is_media_type;
use super::grammar::TYPES;
use super::walk::{Item, Walk};
use super::{addresses, bounds, composition, formats, idle, patterns, xml};
use crate::model::Dialect;
use crate::node::{Node, NodeValue};
use crate::spelling::nearest;

/// Checks a schema's `type`.
pub(super) fn check_type<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    match &item.node.value {
        NodeValue::String(_) => type_name(walk, item.node),
        NodeValue::Array(items) => {
            if walk.dialect == Dialect::V30 {
                return walk.error(
                    "wrong-dialect",
                    item.node.span,
                    "a list of types belongs to OpenAPI 3.1".to_owned(),
                    "write one type, with `nullable: true` for null, or `openapi: 3.1.0`"
                        .to_owned(),
                );
            }
            for name in items {
                type_name(walk, name);
            }
            if items.is_empty() {
                walk.expect(item, false, "a type or a list of types");
            }
        }
        _ => walk.expect(item, false, "a type or a list of types"),
    }
}

/// Returns the format of strings that somebody has written as a type, in small letters.
pub(crate) fn format_meant(name: &str) -> Option<&'static str> {
    let (_, format) = FORMATS.iter().find(|(written, _)| *written == name)?;
    Some(format)
}

/// What is written as a type, and the format of strings that is meant.
const FORMATS: [(&str, &str); 13] = [
    ("binary", "binary"),
    ("byte", "byte"),
    ("date", "date"),
    ("date-time", "date-time"),
    ("datetime", "date-time"),
    ("email", "email"),
    ("file", "binary"),
    ("guid", "uuid"),
    ("password", "password"),
    ("time", "time"),
    ("uri", "uri"),
    ("url", "uri"),
    ("uuid", "uuid"),
];

fn type_name(walk: &mut Walk<'_, '_>, node: &Node) {
    if matches!(node.value, NodeValue::Null) {
        return walk.warning(
            "wrong-type",
            node.span,
            "a type must be a string, and this is null itself; it is read as the type `null`"
                .to_owned(),
            "write \"null\", in quotes".to_owned(),
        );
    }
    let Some(name) = node.as_str() else {
        return walk.error(
            "wrong-type",
            node.span,
            format!("a type must be a string, not {}", node.kind()),
            "write one such as `string`".to_owned(),
        );
    };
    if TYPES.contains(&name) {
        if name == "null" && walk.dialect == Dialect::V30 {
            walk.error(
                "wrong-dialect",
                node.span,
                "the type `null` belongs to OpenAPI 3.1".to_owned(),
                "write `nullable: true` beside the type of the value".to_owned(),
            );
        }
        return;
    }
    let help = match name.to_ascii_lowercase().as_str() {
        "int" | "long" | "short" => "did you mean `integer`?".to_owned(),
        "float" | "double" | "decimal" => "did you mean `number`?".to_owned(),
        "str" | "text" => "did you mean `string`?".to_owned(),
        "bool" => "did you mean `boolean`?".to_owned(),
        "list" => "did you mean `array`?".to_owned(),
        "map" | "dict" => "did you mean `object`?".to_owned(),
        "any" => "leave `type` out for a value of any type".to_owned(),
        lower => match (format_meant(lower), nearest(name, TYPES.into_iter())) {
            (Some(format), _) => format!("write `type: string` with `format: {format}`"),
            (None, Some(meant)) => format!("did you mean `{meant}`?"),
            (None, None) => format!("write `{}`", TYPES.join("`, `")),
        },
    };
    walk.error(
        "unknown-type",
        node.span,
        format!("there is no type `{name}`"),
        help,
    );
}

/// Checks what the table of keywords cannot express about a schema.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let node = item.node;
    bounds::check(walk, node);
    composition::check(walk, node);
    enumeration(walk, node);
    required(walk, node);
    patterns::check(walk, node);
    formats::check(walk, node);
    idle::check(walk, node);
    xml::check(walk, node);
    content(walk, node);
    dynamic(walk, item);
    addresses::lifetime(walk, node, true);
    if let Some(value) = node.get("x-secret")
        && value.as_bool().is_none()
    {
        walk.error(
            "wrong-type",
            value.span,
            format!("`x-secret` must be true or false, not {}", value.kind()),
            "write true or false".to_owned(),
        );
    }
    // In 3.1 an array without `items` has items of any kind.
    if walk.dialect == Dialect::V30
        && node.get("type").and_then(Node::as_str) == Some("array")
        && node.get("items").is_none()
    {
        walk.warning(
            "missing-keyword",
            item.at,
            "a schema of type array needs `items`".to_owned(),
            "add `items`; `items: {}` takes anything".to_owned(),
        );
    }
}

/// Reports a `contentMediaType` that is no media type.
fn content(walk: &mut Walk<'_, '_>, node: &Node) {
    if walk.dialect >= Dialect::V31
        && let Some(value) = node.get("contentMediaType")
        && let Some(text) = value.as_str()
        && !is_media_type(text)
    {
        walk.warning(
            "bad-media-type",
            value.span,
            format!("`{text}` is not a media type"),
            "write one such as `application/json`".to_owned(),
        );
    }
}

fn enumeration(walk: &mut Walk<'_, '_>, node: &Node) {
    let Some(values) = node.get("enum").and_then(Node::as_array) else {
        return;
    };
    if values.is_empty() {
        walk.warning(
            "empty-enum",
            node.get("enum").map_or(node.span, |list| list.span),
            "an `enum` without values accepts nothing".to_owned(),
            "list the values, or remove it".to_owned(),
        );
    }
    let mut seen = HashSet::new();
    let mut has_null = false;
    for value in values {
        has_null |= matches!(value.value, NodeValue::Null);
        let text = canonical(value);
        if !seen.insert(text.clone()) {
            walk.warning(
                "duplicate-enum",
                value.span,
                format!("{text} is listed twice"),
                "remove one of them".to_owned(),
            );
        }
    }
    let nullable = node.entry("nullable");
    if let Some(entry) = nullable
        && walk.dialect == Dialect::V30
        && entry.value.as_bool() == Some(true)
        && !has_null
    {
        walk.warning(
            "nullable-enum",
            entry.key_span,
            "null is not accepted, because the `enum` does not list it".to_owned(),
            "add `null` to the `enum`, or remove `nullable`".to_owned(),
        );
    }
}

/// Returns a value as a string of JSON. The string is the same for `1` and `1.0`.
fn canonical(node: &Node) -> String {
    match (&node.value, node.as_count()) {
        (NodeValue::Number(_), Some(whole)) => whole.to_string(),
        _ => node.to_json().to_string(),
    }
}

/// The number of pairs of a required name and a property that are compared for suggestions.
/// Comparing all pairs would be quadratic in the size of the schema.
const MOST_GUESSES: usize = 100_000;

fn required(walk: &mut Walk<'_, '_>, node: &Node) {
    let Some(names) = node.get("required").and_then(Node::as_array) else {
        return;
    };
    if names.is_empty() && walk.dialect == Dialect::V30 {
        walk.warning(
            "empty-required",
            node.entry("required")
                .map_or(node.span, |entry| entry.key_span),
            "in OpenAPI 3.0 `required` must name at least one property".to_owned(),
            "remove it".to_owned(),
        );
    }
    let properties = node
        .get("properties")
        .and_then(Node::as_object)
        .unwrap_or_default();
    let declared: HashSet<&str> = properties.iter().map(|entry| entry.key.as_str()).collect();
    let closed = node.get("additionalProperties").and_then(Node::as_bool) == Some(false)
        && node.get("patternProperties").is_none();
    let alone = ["allOf", "anyOf", "oneOf", "$ref", "if"]
        .iter()
        .all(|key| node.get(key).is_none());
    // A property that is required under its own name is not what another name was meant to be.
    let needed: HashSet<&str> = names.iter().filter_map(Node::as_str).collect();
    let others = properties
        .iter()
        .map(|entry| entry.key.as_str())
        .filter(|name| !needed.contains(name));
    let others: Vec<&str> = others.take(MOST_GUESSES / names.len().max(1)).collect();
    let mut seen = HashSet::new();
    for name in names {
        let Some(text) = name.as_str() else { continue };
        if !seen.insert(text) {
            walk.warning(
                "duplicate-required",
                name.span,
                format!("`{text}` is required twice"),
                "remove one of them".to_owned(),
            );
        }
        if declared.contains(text) {
            continue;
        }
        // With a combinator or reference, other schemas may declare the property, so a similar name
        // proves nothing.
        let meant = if alone {
            nearest(text, others.iter().copied())
        } else {
            None
        };
        if closed {
            walk.warning(
                "impossible-required",
                name.span,
                format!("`{text}` is required, but `additionalProperties: false` forbids it"),
                match meant {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("declare `{text}` in `properties`"),
                },
            );
        } else if let Some(meant) = meant {
            walk.warning(
                "undeclared-required",
                name.span,
                format!("`{text}` is required, but `properties` does not declare it"),
                format!("did you mean `{meant}`?"),
            );
        }
    }
}

/// Resolves a `$dynamicRef` and queues its target, the outermost enclosing schema with that anchor.
/// Reports a target that does not exist, and a `$ref` beside the `$dynamicRef`.
fn dynamic<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if walk.dialect == Dialect::V30 {
        return;
    }
    let Some(entry) = item.node.entry("$dynamicRef") else {
        return;
    };
    let Some(text) = entry.value.as_str() else {
        return;
    };
    if item.node.get("$ref").is_some() {
        return walk.error(
            "unsupported-keyword",
            entry.key_span,
            "`$dynamicRef` is not supported beside `$ref`".to_owned(),
            "put one of them into `allOf`".to_owned(),
        );
    }
    match walk
        .resolver
        .resolve_dynamic(item.document, item.node, text)
    {
        Ok(target) => walk.enter_schema(&target),
        Err(problem) => walk.report_reference(text, entry.value.span, problem),
    }
}
