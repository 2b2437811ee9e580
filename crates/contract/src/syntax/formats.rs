//! Misspelt formats.

use super::walk::Walk;
use crate::format::{self, FORMATS};
use crate::node::Node;
use crate::spelling::nearest;

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
    if format::lookup(format).is_some() {
        return;
    }
    let lower = format.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == lower);
    let meant = alias
        .map(|(_, meant)| *meant)
        .or_else(|| nearest(format, FORMATS.iter().map(|format| format.name)));
    if let Some(meant) = meant {
        walk.warning(
            "misspelt-format",
            value.span,
            format!("`{format}` is not a known format, so it is not checked"),
            format!("did you mean `{meant}`?"),
        );
    }
}
