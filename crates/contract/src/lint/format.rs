//! Formats that look like a known one but are not.

use super::syntax::Walk;
use crate::node::Node;
use crate::spelling::nearest;

/// Formats of JSON Schema, of OpenAPI and its registry, and others that documents use on purpose.
static KNOWN: &[&str] = &[
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uri-template",
    "iri",
    "iri-reference",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "int8",
    "int16",
    "int32",
    "int64",
    "int128",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint128",
    "int",
    "float",
    "float32",
    "float64",
    "double",
    "double-int",
    "decimal",
    "decimal128",
    "byte",
    "binary",
    "base64",
    "base64url",
    "password",
    "char",
    "commonmark",
    "html",
    "http-date",
    "media-range",
    "date-time-local",
    "time-local",
    "sf-binary",
    "sf-boolean",
    "sf-decimal",
    "sf-integer",
    "sf-string",
    "sf-token",
    "ip",
    "ipv4-network",
    "ipv6-network",
    "cidr",
    "mac",
    "unix",
    "unix-seconds",
    "unix-nano",
    "unix-micro",
    "unix-milli",
    "unixtime",
    "timestamp",
    "phone",
    "currency",
    "ulid",
    "string",
    "integer",
    "number",
    "date-time-rfc1123",
    "version",
    "semver",
];

/// Words for a format that JSON Schema calls otherwise.
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

/// Reports a `format` that is probably misspelt.
pub(super) fn check(walk: &mut Walk<'_, '_>, node: &Node) {
    let Some(value) = node.get("format") else {
        return;
    };
    let Some(format) = value.as_str() else { return };
    if KNOWN.contains(&format) {
        return;
    }
    let lower = format.to_ascii_lowercase();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == lower);
    let meant = alias
        .map(|(_, meant)| *meant)
        .or_else(|| nearest(format, KNOWN.iter().copied()));
    if let Some(meant) = meant {
        walk.warning(
            "misspelt-format",
            value.span,
            format!("`{format}` is not a known format, so nothing checks it"),
            format!("did you mean `{meant}`?"),
        );
    }
}
