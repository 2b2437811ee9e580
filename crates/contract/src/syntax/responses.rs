//! Responses and media types: their keys, and headers that have no effect.

use super::since_32;
use super::walk::{Item, Walk};
use crate::model::StatusKey;
use crate::node::Node;

/// Reports keys of an operation's `responses` that are not statuses, `responses` without any
/// status, and a TRACE request with a body.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if item.node.get("requestBody").is_some() && item.key == "trace" {
        walk.warning(
            "impossible-body",
            item.at,
            "a TRACE request has no body".to_owned(),
            "remove `requestBody`".to_owned(),
        );
    }
    let Some(entry) = item.node.entry("responses") else {
        return;
    };
    let Some(responses) = entry.value.as_object() else {
        return;
    };
    let statuses = responses
        .iter()
        .filter(|entry| !entry.key.starts_with("x-"));
    let mut count = 0;
    for status in statuses {
        count += 1;
        if StatusKey::parse(&status.key).is_none() {
            walk.error(
                "impossible-status",
                status.key_span,
                format!("`{}` is not a status", status.key),
                status_help(&status.key),
            );
        }
    }
    if count == 0 {
        walk.warning(
            "missing-responses",
            entry.key_span,
            "the operation has no responses".to_owned(),
            "add at least the response to a successful call".to_owned(),
        );
    }
}

fn status_help(key: &str) -> String {
    let upper = key.to_ascii_uppercase();
    if matches!(StatusKey::parse(&upper), Some(StatusKey::Range(_))) {
        return format!("write `{upper}`");
    }
    if key.eq_ignore_ascii_case("default") {
        return "write `default`".to_owned();
    }
    "write 100 to 599, a range such as `2XX`, or `default`".to_owned()
}

/// Reports headers named `Content-Type`: the media type determines that header.
pub(super) fn headers<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    for entry in item
        .node
        .get("headers")
        .and_then(Node::as_object)
        .unwrap_or_default()
    {
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
        // Parameters such as `charset` may follow, and are not judged.
        since_32::media_type(walk, item, entry);
        let range = entry.key.split(';').next().unwrap_or_default().trim();
        let legal = range.split_once('/').is_some_and(|(kind, sub)| {
            !kind.is_empty() && !sub.is_empty() && !sub.contains('/') && !range.contains(' ')
        });
        if !legal {
            walk.warning(
                "bad-media-type",
                entry.key_span,
                format!("`{}` is not a media type", entry.key),
                "write one such as `application/json`".to_owned(),
            );
        }
    }
}
