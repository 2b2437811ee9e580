//! Parameters and headers: where they are sent and how they are written.

use super::bodies;
use super::examples;
use super::grammar::Shape;
use super::names;
use super::report::swagger_2;
use super::responses::media_types;
use super::walk::{Item, Walk};
use crate::media_type::is_json;
use crate::model::Dialect;
use crate::node::Node;
use crate::spelling::nearest;

/// Checks the style of a header, and that it has a schema or one media type.
pub(super) fn header<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    style(walk, item, "header");
    examples::both(walk, item);
    typed(walk, item, "a header");
}

/// Checks the location and the style of a parameter, and that it has a schema or one media type.
pub(super) fn parameter<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if let Some(node) = item.node.get("in")
        && let Some(location) = node.as_str()
    {
        match location {
            "path" => path_parameter(walk, item),
            "query" | "cookie" => {}
            "header" => header_parameter(walk, item),
            "querystring" => querystring(walk, item, node),
            "body" | "formData" => walk.error(
                "unknown-location",
                node.span,
                format!("a parameter `in: {location}` belongs to Swagger 2.0"),
                "write a `requestBody`".to_owned(),
            ),
            other => {
                let help = if walk.dialect < Dialect::V32 {
                    "write `path`, `query`, `header` or `cookie`"
                } else {
                    "write `path`, `query`, `querystring`, `header` or `cookie`"
                };
                walk.error(
                    "unknown-location",
                    node.span,
                    format!("a parameter cannot be in `{other}`"),
                    help.to_owned(),
                );
            }
        }
        names::parameter(walk, item.node, location);
        style(walk, item, location);
        reserved(walk, item, location);
    }
    if let Some(entry) = item.node.entry("allowEmptyValue")
        && entry.value.as_bool() == Some(true)
    {
        walk.warning(
            "ignored-keyword",
            entry.key_span,
            "`allowEmptyValue` is deprecated and ignored: an empty value must match the schema"
                .to_owned(),
            "remove it, and let the schema accept the empty string".to_owned(),
        );
    }
    examples::both(walk, item);
    typed(walk, item, "a parameter");
}

/// Checks a parameter that is the whole query, which exists since 3.2: an object as a form, JSON, or a
/// text.
fn querystring<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, location: &Node) {
    if walk.dialect < Dialect::V32 {
        return walk.error(
            "unknown-location",
            location.span,
            format!(
                "a parameter `in: querystring` exists since OpenAPI 3.2, and this is {}",
                walk.dialect.as_str()
            ),
            "write `in: query`, or `openapi: 3.2.0` at the top of the document".to_owned(),
        );
    }
    let content = item.node.get("content").and_then(Node::as_object);
    let Some([entry]) = content else {
        return walk.error(
            "wrong-type",
            location.span,
            "a parameter that is the whole query needs `content`".to_owned(),
            "add `content` with `application/x-www-form-urlencoded`".to_owned(),
        );
    };
    if let Some(encoding) = entry.value.entry("encoding") {
        walk.warning(
            "unapplied-encoding",
            encoding.key_span,
            "a whole query is written as a form without `encoding`: a list as one pair for each item"
                .to_owned(),
            "declare each parameter by itself, with its style".to_owned(),
        );
    }
    let schema = entry.value.get("schema");
    let rejects =
        |kind| schema.is_some_and(|schema| bodies::rejects(walk, (item.document, schema), kind));
    let is_form = entry.key == "application/x-www-form-urlencoded";
    // JSON is any value, and what else a query holds is a text.
    let is_text = rejects("object") && rejects("array");
    let is_wrong = if is_form {
        rejects("object")
    } else {
        !is_text && !is_json(&entry.key)
    };
    if is_wrong {
        let (message, help) = if is_form {
            (
                "a whole query that is a form has the properties of an object",
                "write a schema of type object",
            )
        } else {
            (
                "a whole query that is neither a form nor JSON is a text",
                "write a schema of type string, or the media type `application/json`",
            )
        };
        let (message, help) = (message.to_owned(), help.to_owned());
        walk.error("unsupported-location", entry.key_span, message, help);
    }
}

fn path_parameter<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let required = item.node.entry("required");
    // A value that is no boolean is reported as such.
    if required.is_none_or(|entry| entry.value.as_bool() == Some(false)) {
        let name = name_of(item.node);
        walk.error(
            "path-parameter-optional",
            required.map_or(item.at, |entry| entry.value.span),
            format!("the path parameter `{name}` must be required"),
            "write `required: true`".to_owned(),
        );
    }
}

fn header_parameter<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(node) = item.node.get("name") else {
        return;
    };
    let name = name_of(item.node);
    // The standard has tools ignore these three, since other fields describe them.
    if ["accept", "content-type", "authorization"].contains(&name.to_ascii_lowercase().as_str()) {
        walk.warning(
            "ignored-header",
            node.span,
            format!("tools that follow the standard ignore a header parameter `{name}`"),
            "describe media types in `content`, and credentials in `security`".to_owned(),
        );
    }
}

fn style<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, location: &str) {
    let allowed: &[&str] = match location {
        "path" => &["matrix", "label", "simple"],
        "query" => &["form", "spaceDelimited", "pipeDelimited", "deepObject"],
        "header" => &["simple"],
        "cookie" if walk.dialect >= Dialect::V32 => &["form", "cookie"],
        "cookie" => &["form"],
        _ => return,
    };
    let Some(node) = item.node.get("style") else {
        return;
    };
    let Some(style) = node.as_str() else { return };
    if allowed.contains(&style) {
        let schema = item.node.get("schema");
        let schema = schema.map(|schema| (item.document, schema));
        if style == "deepObject"
            && let Some(schema) = schema
            && !bodies::deep_array(walk, node, schema, "the parameter")
            && bodies::rejects(walk, schema, "object")
        {
            walk.error(
                "impossible-style",
                node.span,
                "`deepObject` writes the properties of an object, but the schema accepts no object"
                    .to_owned(),
                "remove `style`, or write a schema of type object".to_owned(),
            );
        }
        if style == "deepObject"
            && let Some(entry) = item.node.entry("explode")
            && entry.value.as_bool() == Some(false)
        {
            walk.warning(
                "impossible-style",
                entry.value.span,
                "`deepObject` writes each property by itself, and the standard does not say how it does so with `explode: false`"
                    .to_owned(),
                "write `explode: true`".to_owned(),
            );
        }
        return;
    }
    if (location, style) == ("cookie", "cookie") {
        return walk.error(
            "impossible-style",
            node.span,
            format!(
                "the style `cookie` exists since OpenAPI 3.2, and this is {}",
                walk.dialect.as_str()
            ),
            "remove `style`, or write `openapi: 3.2.0` at the top of the document".to_owned(),
        );
    }
    let help = match nearest(style, allowed.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write `{}`", allowed.join("` or `")),
    };
    walk.error(
        "impossible-style",
        node.span,
        format!("in a {location} there is no style `{style}`"),
        help,
    );
}

/// Checks that a parameter or header, as `what` names it, has either a schema or one media type.
fn typed<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, what: &str) {
    one_way(walk, item, what);
    let content = item.node.entry("content");
    match (item.node.get("schema"), content) {
        // What is missing stands beside it, as in Swagger 2.0, and is reported there.
        (None, None) if has_swagger_2(item, what) => {}
        (None, None) => walk.warning(
            "missing-keyword",
            item.at,
            format!("{what} needs `schema` or `content`"),
            "add a `schema`".to_owned(),
        ),
        (Some(_), Some(entry)) => walk.warning(
            "unknown-keyword",
            entry.key_span,
            format!("{what} has both `schema` and `content`, and only `schema` is used"),
            "remove one of them".to_owned(),
        ),
        (None, Some(entry)) => {
            let media = entry.value.as_object().unwrap_or_default();
            // With several media types, nothing would say which of them a value is in.
            if media.len() != 1 {
                walk.error(
                    "wrong-type",
                    entry.key_span,
                    format!("the `content` of {what} must have exactly one media type"),
                    "keep one".to_owned(),
                );
            }
            media_types(walk, item);
        }
        (Some(_), None) => {}
    }
}

/// Returns whether a parameter or header has a keyword of schemas beside its own fields.
fn has_swagger_2(item: Item<'_>, what: &str) -> bool {
    let Shape::Object(grammar) = item.shape else {
        return false;
    };
    let mut entries = item.node.as_object().unwrap_or_default().iter();
    entries
        .any(|entry| grammar.field(&entry.key).is_none() && swagger_2(what, &entry.key).is_some())
}

/// Reports `allowReserved` where values are not percent-encoded in any case.
fn reserved<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, location: &str) {
    let is_idle = match location {
        "header" => true,
        // Since 3.2 it is for every location that is percent-encoded.
        "path" | "cookie" => walk.dialect < Dialect::V32,
        _ => false,
    };
    if is_idle
        && let Some(entry) = item.node.entry("allowReserved")
        && entry.value.as_bool() == Some(true)
    {
        walk.warning(
            "idle-keyword",
            entry.key_span,
            format!("`allowReserved` has no effect in a {location}"),
            "remove it".to_owned(),
        );
    }
}

/// Reports `readOnly` and `writeOnly` in the schema of a parameter or header: they are for
/// properties.
fn one_way<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, what: &str) {
    let Some(schema) = item.node.get("schema") else {
        return;
    };
    if schema.get("$ref").is_some() {
        return;
    }
    for key in ["readOnly", "writeOnly"] {
        if let Some(entry) = schema.entry(key)
            && entry.value.as_bool() == Some(true)
        {
            walk.warning(
                "idle-keyword",
                entry.key_span,
                format!("`{key}` is for properties, and has no effect on {what}"),
                "remove it".to_owned(),
            );
        }
    }
}

fn name_of(node: &Node) -> &str {
    node.get("name").and_then(Node::as_str).unwrap_or_default()
}
