//! The field `xml` of a schema: names that XML does not have, and fields that have no effect.

use super::walk::Walk;
use crate::model::Dialect;
use crate::node::{Entry, Node};
use crate::uri::has_scheme;

/// The kinds of nodes that a value may become since 3.2.
const NODE_TYPES: [&str; 5] = ["element", "attribute", "text", "cdata", "none"];

/// Checks the field `xml` of a schema.
pub(super) fn check(walk: &mut Walk<'_, '_>, schema: &Node) {
    let Some(xml) = schema.get("xml") else { return };
    names(walk, xml);
    let own = schema.get("type").and_then(Node::as_str);
    if let Some(entry) = flag(xml, "wrapped")
        && let Some(kind) = own.filter(|kind| *kind != "array")
    {
        report(
            walk,
            entry,
            format!("`wrapped` is for arrays, and the type is `{kind}`"),
            "remove it, or correct the `type`",
        );
    }
    if let Some(entry) = flag(xml, "attribute")
        && let Some(kind) = own.filter(|kind| matches!(*kind, "array" | "object"))
    {
        report(
            walk,
            entry,
            format!("an attribute holds one text, and the type is `{kind}`"),
            "remove it, or move it to a property of this schema",
        );
    }
    if walk.dialect >= Dialect::V32
        && let Some(entry) = xml.entry("nodeType")
    {
        node_type(walk, xml, entry);
    }
}

/// Returns the entry of a field that is true.
fn flag<'n>(xml: &'n Node, key: &str) -> Option<&'n Entry> {
    xml.entry(key)
        .filter(|entry| entry.value.as_bool() == Some(true))
}

fn names(walk: &mut Walk<'_, '_>, xml: &Node) {
    let text = |key: &str| {
        let entry = xml.entry(key)?;
        Some((entry, entry.value.as_str()?))
    };
    // A name with a colon is legal XML, although `prefix` says the same better.
    if let Some((entry, name)) = text("name")
        // Tools for Java write so that the name is the property's.
        && name != "##default"
        && !is_name(name, true)
    {
        report(
            walk,
            entry,
            "no element or attribute of XML can have this name".to_owned(),
            "begin it with a letter, and write letters, digits, `-`, `_` and `.`",
        );
    }
    if let Some((entry, prefix)) = text("prefix")
        && !is_name(prefix, false)
    {
        report(
            walk,
            entry,
            "no name of XML can have this prefix".to_owned(),
            "write it without a colon, as a name of letters, digits, `-`, `_` and `.`",
        );
    }
    if let Some((entry, namespace)) = text("namespace")
        && !has_scheme(namespace)
    {
        report(
            walk,
            entry,
            "a namespace must be an absolute URI".to_owned(),
            "write one such as `https://example.com/schema`",
        );
    }
}

/// Returns whether a text is a name of XML, with or without colons.
fn is_name(text: &str, may_have_colon: bool) -> bool {
    let is_start =
        |char: char| char.is_alphabetic() || char == '_' || (may_have_colon && char == ':');
    text.starts_with(is_start)
        && text
            .chars()
            .all(|char| is_start(char) || char.is_numeric() || matches!(char, '-' | '.' | '·'))
}

/// Checks the `nodeType` of 3.2, which takes the place of two older fields.
fn node_type(walk: &mut Walk<'_, '_>, xml: &Node, entry: &Entry) {
    let Some(text) = entry.value.as_str() else {
        return;
    };
    if !NODE_TYPES.contains(&text) {
        report(
            walk,
            entry,
            format!("there is no type of node `{text}`"),
            "write `element`, `attribute`, `text`, `cdata` or `none`",
        );
    }
    for old in ["attribute", "wrapped"] {
        if let Some(old) = xml.entry(old) {
            walk.warning(
                "contradicting-fields",
                old.key_span,
                format!("`nodeType` and `{}` exclude each other", old.key),
                "keep `nodeType`".to_owned(),
            );
        }
    }
}

fn report(walk: &mut Walk<'_, '_>, entry: &Entry, message: String, help: &str) {
    walk.warning("bad-xml", entry.value.span, message, help.to_owned());
}
