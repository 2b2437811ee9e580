//! The encoding of a body's parts: whether the parts exist, and whether the media type has parts.

use super::bodies;
use super::walk::Walk;
use crate::declared::may_hold;
use crate::model::Dialect;
use crate::node::Node;
use crate::node_ref::NodeRef;

/// Checks the `encoding` of a media type object that a `content` has under `name`.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, media: &NodeRef<'a>, name: &str) {
    let Some(entry) = media.node.entry("encoding") else {
        return;
    };
    let name = name.split(';').next().unwrap_or_default().trim();
    let lower = name.to_ascii_lowercase();
    let is_multipart = lower.starts_with("multipart/");
    if !is_multipart && lower != "application/x-www-form-urlencoded" && !lower.contains('*') {
        return walk.warning(
            "unapplied-encoding",
            entry.key_span,
            format!("`encoding` is for the properties of forms and `multipart` bodies, and `{name}` is neither"),
            "remove it, or correct the media type".to_owned(),
        );
    }
    let schema = media.key("schema");
    for part in entry.value.as_object().unwrap_or_default() {
        if part.key.starts_with("x-") {
            continue;
        }
        if let Some(schema) = &schema
            && !may_hold(walk.resolver, schema, &[&part.key])
        {
            walk.warning(
                "unapplied-encoding",
                part.key_span,
                format!("the body has no property `{}`", part.key),
                "correct the name, or declare the property".to_owned(),
            );
            continue;
        }
        if !is_multipart && let Some(headers) = part.value.entry("headers") {
            walk.warning(
                "unapplied-encoding",
                headers.key_span,
                "the properties of a form have no headers".to_owned(),
                "remove them, or write `multipart/form-data`".to_owned(),
            );
        }
        media_types(walk, &part.value);
        idle(walk, &part.value, is_multipart);
        if !is_multipart
            && let Some(style) = part.value.get("style")
            && let Some(schema) = &schema
            && let Some(property) = property(walk, schema, &part.key)
        {
            let subject = format!("the property `{}`", part.key);
            let property = (property.document, property.node);
            bodies::deep_array(walk, style, property, &subject);
        }
    }
}

/// The number of schemas in which the schema of a property is searched for.
const MOST_LOOKS: usize = 200;

/// Returns the schema of a property, which may be declared in a part of an `allOf`.
fn property<'a>(walk: &Walk<'_, 'a>, schema: &NodeRef<'a>, name: &str) -> Option<NodeRef<'a>> {
    let mut pending = vec![schema.clone()];
    for _ in 0..MOST_LOOKS {
        let Some(schema) = walk.resolver.follow(&pending.pop()?) else {
            continue;
        };
        let properties = schema.key("properties");
        if let Some(property) = properties.and_then(|properties| properties.key(name)) {
            return Some(property);
        }
        let parts = schema.key("allOf");
        pending.extend(parts.iter().flat_map(NodeRef::items).take(MOST_LOOKS));
    }
    None
}

/// Reports fields of an encoding that have no effect.
fn idle(walk: &mut Walk<'_, '_>, encoding: &Node, is_multipart: bool) {
    let headers = encoding.get("headers").and_then(Node::as_object);
    for header in headers.unwrap_or_default() {
        if header.key.eq_ignore_ascii_case("content-type") {
            walk.warning(
                "ignored-header",
                header.key_span,
                format!(
                    "tools that follow the standard ignore the header `{}` of a part",
                    header.key
                ),
                "write it as `contentType`".to_owned(),
            );
        }
    }
    // Since 3.1 the parts of `multipart/form-data` have a style too.
    if walk.dialect != Dialect::V30 || !is_multipart {
        return;
    }
    for key in ["style", "explode", "allowReserved"] {
        if let Some(entry) = encoding.entry(key) {
            walk.warning(
                "unapplied-encoding",
                entry.key_span,
                format!("in OpenAPI 3.0 `{key}` is for forms in the URL's encoding, and has no effect on `multipart` bodies"),
                "remove it".to_owned(),
            );
        }
    }
}

/// Reports a `contentType` that is no list of media types.
fn media_types(walk: &mut Walk<'_, '_>, encoding: &Node) {
    let Some(value) = encoding.get("contentType") else {
        return;
    };
    let Some(text) = value.as_str() else { return };
    // A comma within quotes is part of a parameter.
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_separator = |char: char| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match char {
            '"' if !was_escaped => is_quoted = !is_quoted,
            '\\' => is_escaped = is_quoted && !was_escaped,
            _ => {}
        }
        char == ',' && !is_quoted
    };
    if let Some(wrong) = text.split(is_separator).find(|part| !is_media_type(part)) {
        walk.warning(
            "bad-media-type",
            value.span,
            format!("`{}` is not a media type", wrong.trim()),
            "write one such as `application/json`".to_owned(),
        );
    }
}

/// Returns whether a text is a media type or a range of them. Parameters such as `charset` may
/// follow, and are not judged.
pub(super) fn is_media_type(text: &str) -> bool {
    let range = text.split(';').next().unwrap_or_default().trim();
    range.split_once('/').is_some_and(|(kind, sub)| {
        !kind.is_empty() && !sub.is_empty() && !sub.contains('/') && !range.contains(' ')
    })
}
