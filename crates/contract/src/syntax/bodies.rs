//! What is sent: schemas of media types that no schema is applied to, and what a schema surely is before the model is made.

use super::walk::{Item, Walk};
use crate::node::Node;
use crate::node_ref::NodeRef;

/// Schemas within one that are looked into before it counts as unknown.
const MOST_LOOKS: usize = 200;

/// Reports structure in the schemas of bodies that are passed on as bytes.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    for entry in item
        .node
        .get("content")
        .and_then(Node::as_object)
        .unwrap_or_default()
    {
        let Some(schema) = entry.value.get("schema") else {
            continue;
        };
        if is_read(&entry.key) || !is_structured(walk, item.document, schema) {
            continue;
        }
        walk.warning(
            "unapplied-schema",
            entry.key_span,
            format!(
                "bodies of `{}` are passed on as bytes, and its schema is not applied to them",
                entry.key
            ),
            "write `type: string` with `format: binary`, or answer JSON".to_owned(),
        );
    }
}

/// Whether bodies of a media type are taken apart by their schema, if that has structure.
fn is_read(name: &str) -> bool {
    let essence = name
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let exact = [
        "application/json",
        "text/json",
        "application/x-www-form-urlencoded",
        "text/event-stream",
    ];
    exact.contains(&essence.as_str())
        || essence.ends_with("+json")
        || essence.starts_with("multipart/")
}

/// Whether a schema speaks of the parts of an object or array.
fn is_structured<'a>(walk: &Walk<'_, 'a>, document: usize, schema: &'a Node) -> bool {
    let mut pending = vec![(document, schema)];
    for _ in 0..MOST_LOOKS {
        let Some((document, schema)) = pending.pop() else {
            return false;
        };
        let Some((document, schema)) = meant(walk, document, schema) else {
            continue;
        };
        let is_of_parts =
            |types: Vec<&str>| types.iter().any(|name| matches!(*name, "object" | "array"));
        if PARTS.iter().any(|key| schema.get(key).is_some())
            || types(schema).is_some_and(is_of_parts)
        {
            return true;
        }
        for key in ["allOf", "anyOf", "oneOf"] {
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

/// Keywords about the parts of a value.
const PARTS: [&str; 4] = ["properties", "additionalProperties", "items", "prefixItems"];

/// Whether a schema surely refuses every object.
pub(super) fn is_no_object<'a>(walk: &Walk<'_, 'a>, item: Item<'a>, schema: &'a Node) -> bool {
    refuses_objects(walk, item.document, schema, &mut { MOST_LOOKS })
}

fn refuses_objects<'a>(
    walk: &Walk<'_, 'a>,
    document: usize,
    schema: &'a Node,
    looks: &mut usize,
) -> bool {
    let Some(left) = looks.checked_sub(1) else {
        return false;
    };
    *looks = left;
    let Some((document, schema)) = meant(walk, document, schema) else {
        return false;
    };
    if types(schema).is_some_and(|types| !types.contains(&"object")) {
        return true;
    }
    let mut refuses = |part: &'a Node| refuses_objects(walk, document, part, looks);
    parts(schema, "allOf").iter().any(&mut refuses)
        || ["anyOf", "oneOf"].iter().any(|key| {
            let choices = parts(schema, key);
            !choices.is_empty() && choices.iter().all(&mut refuses)
        })
}

fn parts<'a>(schema: &'a Node, key: &str) -> &'a [Node] {
    schema.get(key).and_then(Node::as_array).unwrap_or_default()
}

/// The types that a schema names, if it names any.
fn types(schema: &Node) -> Option<Vec<&str>> {
    let node = schema.get("type")?;
    Some(node.as_array().map_or_else(
        || node.as_str().into_iter().collect(),
        |list| list.iter().filter_map(Node::as_str).collect(),
    ))
}

/// What a schema that may be a reference means, and the document where that stands.
fn meant<'a>(walk: &Walk<'_, 'a>, document: usize, schema: &'a Node) -> Option<(usize, &'a Node)> {
    let at = walk.resolver.follow(&NodeRef {
        document,
        node: schema,
        pointer: "".into(),
    })?;
    Some((at.document, at.node))
}
