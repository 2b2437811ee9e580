//! What the document says about itself: its title and version, its contact, its license, its servers.

use std::collections::HashSet;

use super::addresses;
use super::walk::{Item, Walk};
use crate::model::{Dialect, PathPart};
use crate::node::Node;

/// Checks the document as a whole: its servers, and that it describes something.
pub(super) fn document<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    addresses::urls(walk, item.node, &["jsonSchemaDialect"]);
    servers(walk, item);
    let describes = ["paths", "webhooks", "components"];
    if walk.dialect >= Dialect::V31 && describes.iter().all(|key| item.node.get(key).is_none()) {
        walk.warning(
            "missing-keyword",
            item.node
                .entry("openapi")
                .map_or(item.at, |entry| entry.key_span),
            "the document needs `paths`, `webhooks` or `components`".to_owned(),
            "add `paths`".to_owned(),
        );
    }
}

/// Checks the info object.
pub(super) fn info<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    for key in ["title", "version"] {
        let value = item.node.get(key);
        if let Some(value) = value
            && value.as_str().is_some_and(|text| text.trim().is_empty())
        {
            walk.warning(
                "empty-text",
                value.span,
                format!("the `{key}` of the document is empty"),
                format!("write a {key}"),
            );
        }
    }
    addresses::urls(walk, item.node, &["termsOfService"]);
}

/// Checks a license, which since 3.1 has an identifier or a URL.
pub(super) fn license<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    addresses::urls(walk, item.node, &["url"]);
    if walk.dialect >= Dialect::V31
        && item.node.get("identifier").is_some()
        && let Some(entry) = item.node.entry("url")
    {
        walk.warning(
            "contradicting-fields",
            entry.key_span,
            "a license has either `identifier` or `url`".to_owned(),
            "remove one of them".to_owned(),
        );
    }
}

/// Reports servers that an object lists twice.
pub(super) fn servers<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let list = item.node.get("servers").and_then(Node::as_array);
    let mut seen = HashSet::new();
    for server in list.unwrap_or_default() {
        let Some(url) = server.get("url") else {
            continue;
        };
        let Some(text) = url.as_str() else { continue };
        // With other values for its variables, the same template is another server.
        let key = (text, server.get("variables").map(Node::to_json));
        if !seen.insert(key) {
            walk.warning(
                "duplicate-server",
                url.span,
                format!("the server `{text}` is listed twice"),
                "remove one of them".to_owned(),
            );
        }
    }
}

/// Checks the URL of a server, and that each of its variables is in it.
pub(super) fn server<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(url) = item.node.get("url") else {
        return;
    };
    let Some(text) = url.as_str() else { return };
    let parts = PathPart::split(text);
    let is_literal = |part: &&PathPart| matches!(part, PathPart::Literal(_));
    let literal: String = parts.iter().filter(is_literal).map(written).collect();
    let why = if literal.contains(['{', '}']) {
        Some((
            "the braces in the server's URL do not match",
            "write each variable as `{name}`",
        ))
    } else if literal.contains(['?', '#']) {
        Some((
            "the URL of a server has no query and no fragment",
            "remove what begins with `?` or `#`",
        ))
    } else if !text.is_empty() && !parses(&parts) {
        Some((
            "this is not the URL of a server",
            "write one such as `https://example.com/v1`, or `/v1` for the document's own host",
        ))
    } else {
        None
    };
    if let Some((message, help)) = why {
        walk.warning("bad-url", url.span, message.to_owned(), help.to_owned());
    }
    let declared = item.node.get("variables").and_then(Node::as_object);
    let declared = declared.unwrap_or_default();
    // A variable of the URL that is not declared has been reported, and is probably this one.
    let is_declared = |part: &PathPart| match part {
        PathPart::Parameter(name) => declared.iter().any(|entry| entry.key == *name),
        PathPart::Literal(_) => true,
    };
    if !parts.iter().all(is_declared) {
        return;
    }
    for entry in declared {
        let is_used = parts
            .iter()
            .any(|part| matches!(part, PathPart::Parameter(name) if *name == entry.key));
        // A brace that does not match has been reported, and may be what hides the variable.
        if !is_used && !entry.key.starts_with("x-") && !literal.contains(['{', '}']) {
            walk.warning(
                "unused-server-variable",
                entry.key_span,
                format!("the server's URL has no `{{{}}}`", entry.key),
                "put it into the URL, or remove the variable".to_owned(),
            );
        }
    }
}

fn written(part: &PathPart) -> &str {
    match part {
        PathPart::Literal(text) | PathPart::Parameter(text) => text,
    }
}

/// Returns whether a URL is one with its variables filled in. A variable may be a port, so each is
/// a digit.
fn parses(parts: &[PathPart]) -> bool {
    let filled: String = parts
        .iter()
        .map(|part| match part {
            PathPart::Literal(text) => text.as_str(),
            PathPart::Parameter(_) => "1",
        })
        .collect();
    let starts_with_variable = matches!(parts.first(), Some(PathPart::Parameter(_)));
    addresses::is_url(&filled) || (starts_with_variable && addresses::is_url(&format!("/{filled}")))
}

/// Checks the values that a server variable lists.
pub(super) fn server_variable<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(entry) = item.node.entry("enum") else {
        return;
    };
    let Some(values) = entry.value.as_array() else {
        return;
    };
    if values.is_empty() {
        walk.warning(
            "empty-enum",
            entry.value.span,
            "an `enum` without values accepts nothing".to_owned(),
            "list the values, or remove it".to_owned(),
        );
    }
    let mut seen = HashSet::new();
    for value in values {
        if let Some(text) = value.as_str()
            && !seen.insert(text)
        {
            walk.warning(
                "duplicate-enum",
                value.span,
                format!("\"{text}\" is listed twice"),
                "remove one of them".to_owned(),
            );
        }
    }
}
