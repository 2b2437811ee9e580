//! Security schemes: fields that other types of scheme have, and the URLs of OAuth flows.

use super::formats::{Meant, meant};
use super::grammar::{SECURITY_SCHEME, Shape};
use super::walk::{Item, Walk};
use super::{addresses, kinds};
use crate::model::Dialect;
use crate::node::Node;
use crate::uri::is_scheme_uri;

/// Resolves the URIs of security schemes in the requirements of a document or operation (3.2). A
/// scheme of another file is checked, and becomes a component when the files are combined.
pub(super) fn requirements<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if walk.dialect < Dialect::V32 {
        return;
    }
    let alternatives = item.node.get("security").and_then(Node::as_array);
    for alternative in alternatives.unwrap_or_default() {
        for entry in alternative.as_object().unwrap_or_default() {
            if !is_scheme_uri(&entry.key)
                || walk
                    .resolver
                    .security_scheme(alternative, &entry.key)
                    .is_some()
            {
                continue;
            }
            let shape = Shape::Object(&SECURITY_SCHEME);
            match walk
                .resolver
                .resolve(item.document, alternative, &entry.key)
            {
                // It is no component, which the lints report.
                Ok(target) if target.document == 0 => {}
                Ok(target) if kinds::is_wrong(walk, entry.key_span, &target, shape) => {}
                Ok(target) => {
                    walk.note(&entry.value, &target, shape);
                    walk.enter(item, entry, &target, shape);
                }
                Err(problem) => walk.report_reference(&entry.key, entry.key_span, problem),
            }
        }
    }
}

/// The types of security schemes, each with the fields that only such schemes have.
const FIELDS: [(&str, &[&str]); 4] = [
    ("apiKey", &["name", "in"]),
    ("http", &["scheme", "bearerFormat"]),
    ("oauth2", &["flows", "oauth2MetadataUrl"]),
    ("openIdConnect", &["openIdConnectUrl"]),
];

/// The schemes of the `Authorization` header that IANA registers, in lower case.
const HTTP_SCHEMES: [&str; 14] = [
    "basic",
    "bearer",
    "concealed",
    "digest",
    "dpop",
    "gnap",
    "hoba",
    "mutual",
    "negotiate",
    "oauth",
    "privatetoken",
    "scram-sha-1",
    "scram-sha-256",
    "vapid",
];

/// Reports fields of a security scheme that its type does not have, and a misspelt HTTP scheme.
pub(super) fn scheme<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(kind) = item.node.get("type").and_then(Node::as_str) else {
        return;
    };
    // Nobody can say which fields a scheme of an unknown type has.
    if kind != "mutualTLS" && FIELDS.iter().all(|(name, _)| *name != kind) {
        return;
    }
    if kind == "mutualTLS"
        && walk.dialect == Dialect::V30
        && let Some(entry) = item.node.entry("type")
    {
        walk.warning(
            "wrong-dialect",
            entry.value.span,
            "`mutualTLS` is a type of OpenAPI 3.1".to_owned(),
            "declare 3.1, or leave the scheme out".to_owned(),
        );
    }
    for (other, fields) in FIELDS.iter().filter(|(other, _)| *other != kind) {
        for field in *fields {
            if let Some(entry) = item.node.entry(field) {
                walk.warning(
                    "idle-keyword",
                    entry.key_span,
                    format!("`{field}` is for schemes of type `{other}`, and this is `{kind}`"),
                    "remove it, or correct the `type`".to_owned(),
                );
            }
        }
    }
    addresses::urls(walk, item.node, &["openIdConnectUrl", "oauth2MetadataUrl"]);
    if kind == "http" {
        http(walk, item.node);
    }
    if kind == "apiKey" {
        key(walk, item.node);
    }
}

/// The headers in which HTTP says something else, so that they cannot hold a key, in lower case.
/// `User-Agent` is none of them: an API may ask callers to say there who they are.
const TAKEN: &str = "\
    accept connection content-encoding content-length content-type date host transfer-encoding";

/// Reports a key in a header that HTTP needs for something else.
fn key(walk: &mut Walk<'_, '_>, node: &Node) {
    let Some(value) = node.get("name") else {
        return;
    };
    let is_header = node.get("in").and_then(Node::as_str) == Some("header");
    if let Some(name) = value.as_str()
        && is_header
        && TAKEN
            .split(' ')
            .any(|taken| name.eq_ignore_ascii_case(taken))
    {
        walk.warning(
            "credential-header",
            value.span,
            format!("in the header `{name}`, HTTP has something else than a key"),
            "send the key in a header of its own, such as `X-API-Key`".to_owned(),
        );
    }
}

/// Returns whether a scheme is not registered, and not so similar to one that is that it is reported as
/// misspelt.
pub(crate) fn is_unregistered(scheme: &str) -> bool {
    let lower = scheme.to_ascii_lowercase();
    !HTTP_SCHEMES.contains(&lower.as_str()) && probable(&lower).is_none()
}

/// Returns the registered scheme that is probably meant by one that is not registered.
fn probable(lower: &str) -> Option<Meant<'static>> {
    match lower {
        // Its tokens are sent as those of the scheme `bearer`, which OAuth 2.0 has registered.
        "oauth2" => Some(Meant::Perhaps("bearer")),
        _ => meant(lower, &HTTP_SCHEMES),
    }
}

fn http(walk: &mut Walk<'_, '_>, node: &Node) {
    let Some(value) = node.get("scheme") else {
        return;
    };
    let Some(text) = value.as_str() else { return };
    let lower = text.to_ascii_lowercase();
    if !HTTP_SCHEMES.contains(&lower.as_str())
        && let Some(meant) = probable(&lower)
    {
        walk.warning(
            "misspelt-scheme",
            value.span,
            format!("`{text}` is not a registered scheme of the header `Authorization`"),
            format!("did you mean `{}`?", meant.name()),
        );
        if let Meant::Certainly(name) = meant {
            walk.mend(value.span, name);
        }
        return;
    }
    if lower != "bearer"
        && let Some(entry) = node.entry("bearerFormat")
    {
        walk.warning(
            "idle-keyword",
            entry.key_span,
            format!("`bearerFormat` is for the scheme `bearer`, and this is `{text}`"),
            "remove it, or write `scheme: bearer`".to_owned(),
        );
    }
}

/// The URLs of OAuth flows: what each flow needs, and what it does not have.
const FLOWS: [(&str, &[&str], &[&str]); 4] = [
    ("implicit", &["authorizationUrl"], &["tokenUrl"]),
    ("password", &["tokenUrl"], &["authorizationUrl"]),
    ("clientCredentials", &["tokenUrl"], &["authorizationUrl"]),
    ("authorizationCode", &["authorizationUrl", "tokenUrl"], &[]),
];

/// Reports flows of OAuth without their URLs, with URLs of other flows, or without any flow.
pub(super) fn flows<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let entries = item.node.as_object().unwrap_or_default();
    if entries.iter().all(|entry| entry.key.starts_with("x-")) {
        walk.warning(
            "missing-keyword",
            item.at,
            "OAuth needs at least one flow".to_owned(),
            "add one such as `clientCredentials`".to_owned(),
        );
    }
    for (name, needed, idle) in FLOWS {
        let Some(flow) = item.node.entry(name) else {
            continue;
        };
        if flow.value.as_object().is_none() {
            continue;
        }
        for key in needed {
            if flow.value.get(key).is_none() {
                walk.warning(
                    "missing-keyword",
                    flow.key_span,
                    format!("the flow `{name}` needs `{key}`"),
                    format!("add `{key}`"),
                );
            }
        }
        for key in idle {
            if let Some(entry) = flow.value.entry(key) {
                walk.warning(
                    "idle-keyword",
                    entry.key_span,
                    format!("the flow `{name}` has no `{key}`"),
                    "remove it, or correct the name of the flow".to_owned(),
                );
            }
        }
    }
    for entry in entries {
        let keys = [
            "authorizationUrl",
            "deviceAuthorizationUrl",
            "tokenUrl",
            "refreshUrl",
        ];
        addresses::urls(walk, &entry.value, &keys);
    }
}
