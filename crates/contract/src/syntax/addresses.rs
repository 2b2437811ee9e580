//! URLs and e-mail addresses of the document's metadata, and the dates of `x-sunset`
//! and `x-deprecation`.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::walk::Walk;
use crate::model::PathPart;
use crate::moment::Moment;
use crate::node::Node;
use crate::uri::has_scheme;

/// Reports the fields `keys` of an object that hold no URL.
pub(super) fn urls(walk: &mut Walk<'_, '_>, object: &Node, keys: &[&str]) {
    for key in keys {
        let Some(value) = object.get(key) else {
            continue;
        };
        let Some(text) = value.as_str() else { continue };
        if is_url(text) {
            continue;
        }
        let help = if begins_with_host(text) {
            format!("write `https://{text}`")
        } else {
            "write one such as `https://example.com/pets`".to_owned()
        };
        walk.warning(
            "bad-url",
            value.span,
            format!("`{key}` must be a URL"),
            help,
        );
    }
}

/// Returns whether a text is a URL, or a reference that is relative to one. Parts in braces stand
/// for any text.
pub(super) fn is_url(text: &str) -> bool {
    let filled: String = PathPart::split(text)
        .into_iter()
        .map(|part| match part {
            PathPart::Literal(text) => text,
            PathPart::Parameter(_) => "x".to_owned(),
        })
        .collect();
    // By RFC 3986 a host without a scheme is a reference to a file beside the document.
    !text.is_empty() && !begins_with_host(text) && holds(&REFERENCE, &filled)
}

/// The usual endings of files, which top-level domains are not confused with.
const ENDINGS: [&str; 17] = [
    "adoc", "asp", "aspx", "csv", "doc", "docx", "htm", "html", "json", "jsp", "md", "pdf", "php",
    "rst", "txt", "yaml", "yml",
];

/// Returns whether a text begins with what looks like a host, such as `www.example.com`.
fn begins_with_host(text: &str) -> bool {
    if has_scheme(text) {
        return false;
    }
    let first = text.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((name, ending)) = first.rsplit_once('.') else {
        return false;
    };
    let ending = ending.to_ascii_lowercase();
    // The last part of `v1.0` is no domain.
    let is_domain = ending.len() > 1 && ending.bytes().all(|byte| byte.is_ascii_alphabetic());
    first.starts_with("www.")
        || (is_domain && !name.trim_matches('.').is_empty() && !ENDINGS.contains(&&*ending))
}

/// Reports an e-mail address that is none.
pub(super) fn email(walk: &mut Walk<'_, '_>, contact: &Node) {
    let Some(value) = contact.get("email") else {
        return;
    };
    if value.as_str().is_some_and(|text| !is_email(text)) {
        walk.warning(
            "bad-email",
            value.span,
            "this is not an e-mail address".to_owned(),
            "write one such as `api@example.com`".to_owned(),
        );
    }
}

fn is_email(text: &str) -> bool {
    // Addresses beyond ASCII are not checked further than this.
    holds(&EMAIL, text) || (!text.is_ascii() && text.contains('@') && !text.contains(' '))
}

/// Reports when something ends, or since when it is deprecated, if nobody can know it or it has no
/// effect. `has_deprecated` says whether the object can have the field `deprecated`.
pub(super) fn lifetime(walk: &mut Walk<'_, '_>, object: &Node, has_deprecated: bool) {
    let is_deprecated = object.get("deprecated").and_then(Node::as_bool) == Some(true);
    let mut is_idle = has_deprecated && !is_deprecated;
    for (key, meaning) in [
        ("x-deprecation", "since when this is deprecated"),
        ("x-sunset", "on which this ends"),
    ] {
        let Some(value) = object.get(key) else {
            continue;
        };
        if moment(value).is_none() {
            walk.warning(
                "bad-sunset",
                value.span,
                format!("`{key}` must be the date {meaning}"),
                "write a date such as \"2030-01-31\", or a time such as \"2030-01-31T00:00:00Z\""
                    .to_owned(),
            );
        } else if is_idle {
            // One `deprecated` is missing, whichever of the fields are there.
            is_idle = false;
            walk.warning(
                "undeprecated-sunset",
                value.span,
                format!("`{key}` has no effect on what is not deprecated"),
                "add `deprecated: true`".to_owned(),
            );
        }
    }
    let (Some(since), Some(sunset)) = (object.get("x-deprecation"), object.get("x-sunset")) else {
        return;
    };
    if let (Some(since), Some(end)) = (moment(since), moment(sunset))
        && end < since
    {
        walk.warning(
            "sunset-before-deprecation",
            sunset.span,
            format!("this ends on {end}, before it is deprecated on {since}"),
            "write a later date, or an earlier `x-deprecation`".to_owned(),
        );
    }
}

fn moment(value: &Node) -> Option<Moment> {
    value.as_str().and_then(Moment::parse)
}

static REFERENCE: LazyLock<Option<Validator>> = LazyLock::new(|| checks("uri-reference"));
static EMAIL: LazyLock<Option<Validator>> = LazyLock::new(|| checks("email"));

fn checks(format: &str) -> Option<Validator> {
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&json!({ "format": format }))
        .ok()
}

fn holds(format: &LazyLock<Option<Validator>>, text: &str) -> bool {
    let text = Value::String(text.to_owned());
    format
        .as_ref()
        .is_none_or(|validator| validator.is_valid(&text))
}
