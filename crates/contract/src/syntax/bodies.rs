//! Checks of schemas whose use decides what they may say: those of bodies that are passed on as
//! bytes, those of forms, and those of parameters in the style `deepObject`.

use super::walk::{Item, Walk};
use crate::model::Dialect;
use crate::node::Node;
use crate::node_ref::NodeRef;

/// The number of schemas that are examined within one schema; if there are more, nothing is
/// reported.
const MOST_LOOKS: usize = 200;

/// Reports the media types of a body whose schema describes an object or array, although bodies of
/// that type have no structure, so that no schema is applied, and forms whose schema accepts no
/// object.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    for entry in item
        .node
        .get("content")
        .and_then(Node::as_object)
        .unwrap_or_default()
    {
        let media = NodeRef {
            document: item.document,
            node: &entry.value,
            pointer: "".into(),
        };
        let media = walk.resolver.follow(&media);
        let Some((document, schema)) = media
            .as_ref()
            .and_then(|at| Some((at.document, at.node.get("schema")?)))
        else {
            continue;
        };
        // Parts with positions may be an array, in a form too.
        let has_positions = walk.dialect >= Dialect::V32
            && media.is_some_and(|at| {
                let has = |key: &str| at.node.get(key).is_some();
                has("prefixEncoding") || has("itemEncoding")
            });
        if is_form(&entry.key) && !has_positions && rejects(walk, (document, schema), "object") {
            walk.warning(
                "form-of-no-object",
                entry.key_span,
                format!(
                    "a body of `{}` has fields, and the schema accepts no object",
                    entry.key
                ),
                "write `type: object`, with a property for each field".to_owned(),
            );
        }
        // A number is the same text in JSON and without, so a schema of `text/plain` is applied to it. But of
        // a range, nothing says that the body is a text.
        let kinds: &[&str] = if is_range(&entry.key) {
            &["object", "array", "integer", "number", "boolean"]
        } else {
            &["object", "array"]
        };
        let is_read = !is_of(walk, (document, schema), kinds);
        if !is_unstructured(&entry.key) || is_read {
            continue;
        }
        walk.warning(
            "unapplied-schema",
            entry.key_span,
            format!(
                "bodies of `{}` are passed on as bytes, so the schema is not applied",
                entry.key
            ),
            "write `type: string` with `format: binary`, or use `application/json`".to_owned(),
        );
    }
}

/// Returns whether bodies of a media type are bytes or text without any structure that a schema could
/// describe. Of others, such as XML, a schema says something, although no code applies it here.
fn is_unstructured(name: &str) -> bool {
    let essence = name.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let kinds = ["audio/", "font/", "image/", "video/"];
    let exact = [
        "application/gzip",
        "application/octet-stream",
        "application/pdf",
        "application/zip",
        "text/html",
        "text/plain",
    ];
    // `image/svg+xml` is XML.
    (kinds.iter().any(|kind| essence.starts_with(kind)) && !essence.contains('+'))
        || exact.contains(&essence.as_str())
        || is_range(&essence)
}

/// Returns whether this is a range of media types, such as `text/*`, which does not say what a body is.
fn is_range(name: &str) -> bool {
    name.split(';')
        .next()
        .is_some_and(|essence| essence.trim().ends_with("/*"))
}

/// Returns whether bodies of a media type are fields with names.
fn is_form(name: &str) -> bool {
    let essence = name.split(';').next().unwrap_or_default().trim();
    ["application/x-www-form-urlencoded", "multipart/form-data"]
        .iter()
        .any(|form| essence.eq_ignore_ascii_case(form))
}

/// Returns whether a schema, or a schema in its `allOf`, `anyOf` or `oneOf`, describes the parts of a
/// value, or has one of these types.
fn is_of<'a>(walk: &Walk<'_, 'a>, (document, schema): (usize, &'a Node), kinds: &[&str]) -> bool {
    let mut pending = vec![(document, schema)];
    for _ in 0..MOST_LOOKS {
        let Some((document, schema)) = pending.pop() else {
            return false;
        };
        let Some((document, schema)) = followed(walk, document, schema) else {
            continue;
        };
        let is_of_parts = |types: Vec<&str>| types.iter().any(|name| kinds.contains(name));
        if PARTS.iter().any(|key| schema.get(key).is_some())
            || types(schema).is_some_and(is_of_parts)
        {
            return true;
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            // More of them than this are never examined, so more need not be queued.
            pending.extend(
                parts(schema, key)
                    .iter()
                    .take(MOST_LOOKS)
                    .map(|part| (document, part)),
            );
        }
    }
    false
}

/// The keywords of a schema that describe the properties or items of a value.
const PARTS: [&str; 4] = ["properties", "additionalProperties", "items", "prefixItems"];

/// Returns whether a schema certainly rejects every value of a type.
pub(super) fn rejects<'a>(
    walk: &Walk<'_, 'a>,
    (document, schema): (usize, &'a Node),
    kind: &str,
) -> bool {
    rejects_all(walk, (document, schema), kind, &mut { MOST_LOOKS })
}

fn rejects_all<'a>(
    walk: &Walk<'_, 'a>,
    (document, schema): (usize, &'a Node),
    kind: &str,
    looks: &mut usize,
) -> bool {
    // Schemas can refer to themselves, so the number of looks is bounded. When none is left, assume
    // that values are accepted: a correct document must not be reported.
    let Some(left) = looks.checked_sub(1) else {
        return false;
    };
    *looks = left;
    let Some((document, schema)) = followed(walk, document, schema) else {
        return false;
    };
    if types(schema).is_some_and(|types| !types.contains(&kind)) {
        return true;
    }
    let mut rejects = |part: &'a Node| rejects_all(walk, (document, part), kind, looks);
    parts(schema, "allOf").iter().any(&mut rejects)
        || ["anyOf", "oneOf"].iter().any(|key| {
            let choices = parts(schema, key);
            !choices.is_empty() && choices.iter().all(&mut rejects)
        })
}

/// Reports the style `deepObject` for an array, as `subject` names it, and returns whether it is for
/// one: the standard defines the style for objects only.
pub(super) fn deep_array<'a>(
    walk: &mut Walk<'_, 'a>,
    style: &Node,
    (document, schema): (usize, &'a Node),
    subject: &str,
) -> bool {
    let rejects = |kind| rejects(walk, (document, schema), kind);
    if style.as_str() != Some("deepObject") || !rejects("object") || rejects("array") {
        return false;
    }
    walk.error(
        "deep-object-array",
        style.span,
        format!("`deepObject` writes the properties of an object, and {subject} is an array"),
        "write the style `form`; if the API reads `name[]=…` and `name[0][property]=…`, pass `--foreign`"
            .to_owned(),
    );
    true
}

fn parts<'a>(schema: &'a Node, key: &str) -> &'a [Node] {
    schema.get(key).and_then(Node::as_array).unwrap_or_default()
}

/// Returns the types in a schema's `type`, if it has one.
fn types(schema: &Node) -> Option<Vec<&str>> {
    let node = schema.get("type")?;
    Some(node.as_array().map_or_else(
        || node.as_str().into_iter().collect(),
        |list| list.iter().filter_map(Node::as_str).collect(),
    ))
}

/// Follows a schema that may be a reference. Returns the schema at the end with the index of its
/// document, or `None` if there is none.
fn followed<'a>(
    walk: &Walk<'_, 'a>,
    document: usize,
    schema: &'a Node,
) -> Option<(usize, &'a Node)> {
    let at = walk.resolver.follow(&NodeRef {
        document,
        node: schema,
        pointer: "".into(),
    })?;
    Some((at.document, at.node))
}
