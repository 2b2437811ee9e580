//! Misspelt formats, and what a misspelt word of an open vocabulary means.

use super::walk::Walk;
use crate::format::{self, FORMATS};
use crate::node::Node;
use crate::spelling::fold;

/// Common names of formats, each with its name in JSON Schema or OpenAPI.
static ALIASES: &[(&str, &str)] = &[
    ("ip4", "ipv4"),
    ("ip6", "ipv6"),
    ("ip-v4", "ipv4"),
    ("ip-v6", "ipv6"),
    ("url", "uri"),
    ("uri-ref", "uri-reference"),
    ("guid", "uuid"),
    ("long", "int64"),
    ("i32", "int32"),
    ("i64", "int64"),
    ("mail", "email"),
    ("host", "hostname"),
    ("host-name", "hostname"),
    ("domain", "hostname"),
    ("iso8601", "date-time"),
    ("iso-8601", "date-time"),
    ("rfc3339", "date-time"),
    ("rfc-3339", "date-time"),
    ("regexp", "regex"),
];

/// Reports an unknown `format` that is similar to a known one, or another common name of one.
pub(super) fn check(walk: &mut Walk<'_, '_>, node: &Node) {
    let Some(value) = node.get("format") else {
        return;
    };
    let Some(format) = value.as_str() else { return };
    if let Some(meant) = probable(format, node) {
        walk.warning(
            "misspelt-format",
            value.span,
            format!("`{format}` is not a known format, so it is not checked"),
            format!("did you mean `{}`?", meant.name()),
        );
        if let Meant::Certainly(name) = meant {
            walk.mend(value.span, name);
        }
    }
}

/// Returns whether the `format` of a schema is reported as a misspelt one.
pub(crate) fn is_misspelt_format(node: &Node) -> bool {
    let format = node.get("format").and_then(Node::as_str);
    format.is_some_and(|format| probable(format, node).is_some())
}

/// Returns the known format that an unknown one of a schema probably means.
fn probable(format: &str, node: &Node) -> Option<Meant<'static>> {
    if format::lookup(format).is_some() {
        return None;
    }
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    match meant(format, &names) {
        Some(Meant::Perhaps(_)) if is_other(format) => None,
        Some(meant) => Some(meant),
        None => alias(format, node).map(Meant::Perhaps),
    }
}

/// Returns the format that a common name in [`ALIASES`] means, such as `uuid` for `guid`, unless the
/// schema has a single `type` that the format is not for.
fn alias(format: &str, node: &Node) -> Option<&'static str> {
    let lower = format.to_ascii_lowercase();
    let (_, meant) = ALIASES.iter().find(|(alias, _)| *alias == lower)?;
    let types = format::lookup(meant)?.types;
    let of = node.get("type").and_then(Node::as_str);
    let fits = types.is_empty() || of.is_none_or(|of| types.contains(&of));
    fits.then_some(*meant)
}

/// Returns whether a format is one of a family in use whose names differ in little, such as
/// `base32` and `uuidv7`.
fn is_other(format: &str) -> bool {
    let lower = format.to_ascii_lowercase();
    let base = lower.strip_prefix("base");
    base.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        || lower == "cuid"
        || lower.starts_with("uuid")
}

/// The word of an open vocabulary that another one, which is not in it, means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meant<'w> {
    /// Only letter case and separators differ.
    Certainly(&'w str),
    /// One letter differs, or the word is another name. It can also be right as it is.
    Perhaps(&'w str),
}

impl<'w> Meant<'w> {
    pub(super) fn name(self) -> &'w str {
        match self {
            Self::Certainly(name) | Self::Perhaps(name) => name,
        }
    }
}

/// The fewest characters of a word that is taken for one with another letter. Among shorter words,
/// many that differ in one letter are both right.
const LEAST_SIMILAR: usize = 6;

/// Returns what a word means that is not one of the `known` words.
pub(super) fn meant<'w>(word: &str, known: &[&'w str]) -> Option<Meant<'w>> {
    let folded = fold(word);
    if let Some(equal) = known.iter().find(|known| fold(known) == folded) {
        return Some(Meant::Certainly(equal));
    }
    if word.chars().count() < LEAST_SIMILAR {
        return None;
    }
    let is_near = |known: &&&str| {
        known.len().abs_diff(word.len()) <= 4 && strsim::osa_distance(word, known) <= 1
    };
    let near = known.iter().find(is_near)?;
    Some(Meant::Perhaps(near))
}
