//! What the document says about itself: its title and version, its contact, its license, its servers.

use std::collections::HashSet;

use super::addresses;
use super::walk::{Item, Walk};
use crate::model::{Dialect, PathPart};
use crate::node::Node;
use crate::source::Span;
use crate::spelling::nearest;

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
        && let Some(value) = item.node.get("identifier")
        && value.as_str().is_some_and(|text| !is_license(text))
    {
        walk.warning(
            "bad-license",
            value.span,
            "this is no license expression of SPDX".to_owned(),
            "write one such as `Apache-2.0` or `MIT OR Apache-2.0`, or a `url` instead".to_owned(),
        );
    }
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

/// Returns whether a text has the form of a license expression of SPDX: identifiers, between which
/// `AND`, `OR` and `WITH` stand, and parentheses.
fn is_license(text: &str) -> bool {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut depth = 0_usize;
    let mut wants_name = true;
    for word in spaced.split_whitespace() {
        let fits = match word {
            "(" => {
                depth += 1;
                wants_name
            }
            ")" => {
                let is_open = depth > 0;
                depth = depth.saturating_sub(1);
                is_open && !wants_name
            }
            // Version 3 of the standard lets operators be in lower case too.
            "AND" | "OR" | "WITH" | "and" | "or" | "with" => {
                !std::mem::replace(&mut wants_name, true)
            }
            name => {
                let name = name.strip_suffix('+').unwrap_or(name);
                let is_name = !name.is_empty()
                    && name.chars().all(|char| {
                        char.is_ascii_alphanumeric() || matches!(char, '-' | '.' | ':')
                    });
                std::mem::replace(&mut wants_name, false) && is_name
            }
        };
        if !fits {
            return false;
        }
    }
    depth == 0 && !wants_name
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
    } else if let Some(why) = slipped(&literal, &parts) {
        Some(why)
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
    repeated(walk, url.span, &parts);
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

/// Reports a variable that a URL has twice, which the standard forbids since 3.2.
fn repeated(walk: &mut Walk<'_, '_>, url: Span, parts: &[PathPart]) {
    let mut seen = HashSet::new();
    for part in parts {
        if let PathPart::Parameter(name) = part
            && !seen.insert(name)
            && walk.dialect >= Dialect::V32
        {
            return walk.warning(
                "duplicate-server-variable",
                url,
                format!("the server's URL has `{{{name}}}` twice"),
                "declare two variables".to_owned(),
            );
        }
    }
}

fn written(part: &PathPart) -> &str {
    match part {
        PathPart::Literal(text) | PathPart::Parameter(text) => text,
    }
}

/// The schemes of servers, for those that are misspelt.
const SCHEMES: [&str; 4] = ["http", "https", "ws", "wss"];

/// Returns why a URL is not what its author means, and what to write, although it can be read as one.
fn slipped(literal: &str, parts: &[PathPart]) -> Option<(&'static str, &'static str)> {
    let lower = literal.to_ascii_lowercase();
    let absolute = lower.split_once("://");
    let is_slipped = |scheme: &&str| {
        let rest = lower.strip_prefix(*scheme);
        rest.is_some_and(|rest| {
            rest.starts_with("//") || (rest.starts_with(":/") && !rest.starts_with("://"))
        })
    };
    if SCHEMES.iter().any(is_slipped) {
        return Some((
            "this is a path beside the document, and no URL of a host",
            "write `://` behind the scheme",
        ));
    }
    let (scheme, rest) = absolute?;
    let is_known = scheme.is_empty() || SCHEMES.contains(&scheme);
    if !is_known && nearest(scheme, SCHEMES.into_iter()).is_some() {
        return Some((
            "there is no such scheme",
            "write `https`, `http`, `wss` or `ws`",
        ));
    }
    // A variable may be a part of the port.
    let port = rest.split(['/', '?', '#']).next()?.rsplit_once(':')?.1;
    let is_whole = parts.len() == 1;
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_whole && is_number && port.parse::<u16>().is_err())
        .then_some(("there is no such port", "write a port up to 65535"))
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
