//! Responses and media types: their keys, and headers that have no effect.

use super::encodings::is_media_type;
use super::names;
use super::since_32;
use super::walk::{Item, Walk};
use crate::model::{Dialect, StatusKey};
use crate::node::{Entry, Node};
use crate::node_ref::NodeRef;
use crate::source::Span;

/// Reports keys of an operation's `responses` that are not statuses, `responses` without any
/// status, and a TRACE request with a body.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if item.key == "trace"
        && let Some(body) = item.node.entry("requestBody")
    {
        walk.warning(
            "impossible-body",
            body.key_span,
            "a TRACE request has no body".to_owned(),
            "remove `requestBody`".to_owned(),
        );
    }
    let Some(entry) = item.node.entry("responses") else {
        // In 3.0 the field is required, which is reported as such.
        if walk.dialect >= Dialect::V31 && item.node.get("$ref").is_none() {
            no_responses(walk, item.at);
        }
        return;
    };
    let Some(responses) = entry.value.as_object() else {
        return;
    };
    let statuses = responses
        .iter()
        .filter(|entry| !entry.key.starts_with("x-"));
    let mut count = 0;
    let mut is_success = false;
    for status in statuses {
        count += 1;
        let key = StatusKey::parse(&status.key);
        is_success |= !matches!(key, Some(StatusKey::Code(400..) | StatusKey::Range(4..)));
        bodiless(walk, item, status, key);
        if StatusKey::parse(&status.key).is_none() {
            walk.error(
                "impossible-status",
                status.key_span,
                format!("`{}` is not a status", status.key),
                status_help(&status.key),
            );
            if let Some(meant) = meant(&status.key)
                && is_free(responses, status, &meant)
            {
                walk.mend(status.key_span, &meant);
            }
        }
    }
    if count == 0 {
        no_responses(walk, entry.key_span);
    } else if !is_success {
        walk.warning(
            "missing-success",
            entry.key_span,
            "the operation has no response to a successful call".to_owned(),
            "add one such as `\"200\"`".to_owned(),
        );
    }
}

fn no_responses(walk: &mut Walk<'_, '_>, at: Span) {
    walk.warning(
        "missing-responses",
        at,
        "the operation has no responses".to_owned(),
        "add at least the response to a successful call".to_owned(),
    );
}

/// Reports content of a response to which HTTP gives none (RFC 9110).
fn bodiless<'a>(
    walk: &mut Walk<'_, 'a>,
    item: Item<'a>,
    status: &'a Entry,
    key: Option<StatusKey>,
) {
    let is_own = status.value.get("$ref").is_none();
    let why = match key {
        Some(StatusKey::Code(code @ (100..=199 | 204 | 205 | 304))) => {
            format!("a response with status {code} has no body")
        }
        Some(StatusKey::Range(1)) => "a response with status 1XX has no body".to_owned(),
        // A response that is shared with other methods has its body there.
        Some(_) if item.key == "head" && is_own => "a response to HEAD has no body".to_owned(),
        _ => return,
    };
    let start = NodeRef {
        document: item.document,
        node: &status.value,
        pointer: "".into(),
    };
    let Some(target) = walk.resolver.follow(&start) else {
        return;
    };
    let content = target.node.entry("content");
    let content = content.filter(|entry| entry.value.as_object().is_some_and(|it| !it.is_empty()));
    if let Some(content) = content {
        // At the status, if the response is shared with others that may have a body.
        walk.warning(
            "impossible-body",
            if is_own {
                content.key_span
            } else {
                status.key_span
            },
            why,
            if item.key == "head" {
                "remove `content`: the headers say what GET would send".to_owned()
            } else {
                "remove `content`, or correct the status".to_owned()
            },
        );
    }
}

/// Returns the status that a key is in other letters, if it is one.
fn meant(key: &str) -> Option<String> {
    let upper = key.to_ascii_uppercase();
    if matches!(StatusKey::parse(&upper), Some(StatusKey::Range(_))) {
        return Some(upper);
    }
    key.eq_ignore_ascii_case("default")
        .then(|| "default".to_owned())
}

/// Returns whether no other response has the status `meant`, and none before `status` is mended to
/// it.
fn is_free(responses: &[Entry], status: &Entry, meant_status: &str) -> bool {
    let mut before = responses
        .iter()
        .take_while(|entry| entry.key_span != status.key_span);
    responses.iter().all(|entry| entry.key != meant_status)
        && before.all(|entry| {
            StatusKey::parse(&entry.key).is_some()
                || meant(&entry.key).as_deref() != Some(meant_status)
        })
}

fn status_help(key: &str) -> String {
    if let Some(meant) = meant(key) {
        return format!("write `{meant}`");
    }
    "write 100 to 599, a range such as `2XX`, or `default`".to_owned()
}

/// Reports links with names that the standard does not allow.
pub(super) fn links<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let links = item.node.get("links").and_then(Node::as_object);
    for entry in links.unwrap_or_default() {
        if !names::is_component(&entry.key) && !entry.key.starts_with("x-") {
            walk.warning(
                "component-name",
                entry.key_span,
                format!("`{}` is not a valid name of a link", entry.key),
                "use letters, digits, `.`, `-` and `_`".to_owned(),
            );
        }
    }
}

/// Reports a request body that has no media type.
pub(super) fn no_media_type<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if let Some(entry) = item.node.entry("content")
        && entry.value.as_object().is_some_and(<[Entry]>::is_empty)
    {
        walk.warning(
            "missing-keyword",
            entry.key_span,
            "the `content` of a request body needs a media type".to_owned(),
            "add one such as `application/json`, or remove the body".to_owned(),
        );
    }
}

/// Reports headers named `Content-Type`: the media type determines that header.
pub(super) fn headers<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    for entry in item
        .node
        .get("headers")
        .and_then(Node::as_object)
        .unwrap_or_default()
    {
        names::header(walk, &entry.key, entry.key_span);
        if entry.key.eq_ignore_ascii_case("content-type") {
            walk.warning(
                "ignored-header",
                entry.key_span,
                format!(
                    "tools that follow the standard ignore the response header `{}`",
                    entry.key
                ),
                "remove it: the media type in `content` determines it".to_owned(),
            );
        }
    }
}

/// Reports keys of `content` that are not media types, and what the media types cannot apply.
pub(super) fn media_types<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(content) = item.node.get("content").and_then(Node::as_object) else {
        return;
    };
    for entry in content {
        since_32::media_type(walk, item, entry);
        if !is_media_type(&entry.key) {
            walk.warning(
                "bad-media-type",
                entry.key_span,
                format!("`{}` is not a media type", entry.key),
                "write one such as `application/json`".to_owned(),
            );
        }
    }
}
