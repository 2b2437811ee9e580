//! What OpenAPI 3.2 adds and the tables cannot express: fields that exclude each other, methods,
//! sequences and positions in bodies.

use std::cmp::Ordering;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::encodings;
use super::names::is_token;
use super::walk::{Item, Walk};
use crate::events::{contents_of_branches, is_event_stream, typed_data};
use crate::media_type::is_json;
use crate::model::{Dialect, Method, is_sequential};
use crate::node::{Entry, Node};
use crate::node_ref::{NodeRef, address};
use crate::number::compare;

/// Checks `$self`, which identifies the document.
pub(super) fn document<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(node) = own(walk, item, "$self") else {
        return;
    };
    let text = node.as_str().unwrap_or_default();
    if text.contains('#') {
        walk.error(
            "bad-self",
            node.span,
            "`$self` identifies the whole document, so it has no fragment".to_owned(),
            "remove what begins with `#`".to_owned(),
        );
        return;
    }
    // A copy of a document on another host starts from its address.
    let base = &walk.resolver.documents.list[item.document].base;
    if text.starts_with('/') && base.address().is_none() {
        walk.warning(
            "bad-self",
            node.span,
            "a `$self` that begins with a slash needs the address of this file, which nobody has said, and has no effect"
                .to_owned(),
            "write the whole address, such as `https://example.com/openapi.yaml`".to_owned(),
        );
    }
}

/// Checks the keys of `additionalOperations`, which are methods.
pub(super) fn path_item<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let additional = own(walk, item, "additionalOperations").and_then(Node::as_object);
    for entry in additional.unwrap_or_default() {
        let name = entry.key.as_str();
        let fixed = Method::FIXED
            .into_iter()
            .find(|method| method.as_str() == name);
        if let Some(method) = fixed {
            let field = method.key();
            walk.error(
                "bad-method",
                entry.key_span,
                format!("`{name}` is the field `{field}` of the path item"),
                format!("move the operation to `{field}`"),
            );
        } else if !is_token(name) {
            walk.error(
                "bad-method",
                entry.key_span,
                format!("`{name}` is not a method"),
                "write it as requests do, with letters, digits and `-`".to_owned(),
            );
        } else if Method::FIXED
            .iter()
            .any(|method| method.key() == name.to_ascii_lowercase())
        {
            walk.warning(
                "bad-method",
                entry.key_span,
                format!(
                    "methods have a case, and `{name}` is not `{}`",
                    name.to_ascii_uppercase()
                ),
                format!("move the operation to `{}`", name.to_ascii_lowercase()),
            );
        }
    }
}

/// Reports fields of an example that exclude each other.
pub(super) fn example<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let pairs = [
        ("value", "dataValue"),
        ("value", "serializedValue"),
        ("externalValue", "serializedValue"),
    ];
    for (one, other) in pairs {
        if walk.dialect >= Dialect::V32
            && item.node.get(one).is_some()
            && let Some(entry) = item.node.entry(other)
        {
            walk.warning(
                "contradicting-fields",
                entry.key_span,
                format!("an example has either `{one}` or `{other}`"),
                format!("remove `{one}`"),
            );
        }
    }
}

/// Checks the flow for devices, whose two addresses no other flow has together.
pub(super) fn flows<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if walk.dialect < Dialect::V32 {
        return;
    }
    let Some(entry) = item.node.entry("deviceAuthorization") else {
        return;
    };
    for key in ["deviceAuthorizationUrl", "tokenUrl"] {
        if entry.value.get(key).is_none() {
            walk.warning(
                "missing-keyword",
                entry.key_span,
                format!("the flow `deviceAuthorization` needs `{key}`"),
                format!("add `{key}`"),
            );
        }
    }
}

/// Checks a media type object that a `content` has under the key of `entry`.
pub(super) fn media_type<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, entry: &'a Entry) {
    let start = NodeRef {
        document: item.document,
        node: &entry.value,
        pointer: "".into(),
    };
    let Some(at) = walk.resolver.follow(&start) else {
        return;
    };
    let media = at.node;
    encodings::check(walk, &at, &entry.key);
    let name = &entry.key;
    let is_32 = walk.dialect >= Dialect::V32;
    let is_multipart = name.to_ascii_lowercase().starts_with("multipart/");
    if is_32 {
        serialized(walk, &at, name);
    }
    let item_schema = media
        .entry("itemSchema")
        .filter(|_| is_32)
        .or_else(|| media.entry("x-item-schema"));
    if let Some(found) = item_schema
        && !is_sequential(name)
        && !is_multipart
    {
        walk.warning(
            "unapplied-schema",
            found.key_span,
            format!(
                "`{name}` is no sequence of items, so `{}` is not applied",
                found.key
            ),
            "write `schema`, or a media type such as `application/jsonl`".to_owned(),
        );
    }
    if let Some(found) = item_schema
        && is_event_stream(name)
    {
        event(walk, &at.child(&found.key, &found.value));
    }
    for key in ["prefixEncoding", "itemEncoding"] {
        let Some(found) = media.entry(key).filter(|_| is_32) else {
            continue;
        };
        if !is_multipart {
            walk.warning(
                "unapplied-encoding",
                found.key_span,
                format!("`{key}` is for the parts of `multipart` bodies, and `{name}` has none"),
                "remove it".to_owned(),
            );
        } else if let Some(other) = media.entry("encoding") {
            walk.error(
                "contradicting-fields",
                other.key_span,
                format!("parts are encoded by name or by position, so `encoding` and `{key}` exclude each other"),
                "remove one of them".to_owned(),
            );
        }
    }
}

/// Notes the schemas of the data of an event, or of several, and reports data that is not read as the
/// JSON that it is.
fn event<'a>(walk: &mut Walk<'_, 'a>, event: &NodeRef<'a>) {
    if let Some(data) = typed_data(walk.resolver, event) {
        return event_data(walk, &data);
    }
    let contents = contents_of_branches(walk.resolver, event);
    for data in &contents.texts {
        event_data(walk, data);
    }
    for data in &contents.others {
        // What is missing beside it is not what is wrong with it.
        walk.event_data.insert(address(data.node));
        if let Some(entry) = data.node.entry("contentSchema") {
            walk.warning(
                "unapplied-schema",
                entry.key_span,
                "of several events, `data` is decoded where it is a text and no secret, so `contentSchema` is not applied"
                    .to_owned(),
                "write `type: string` beside it, and no `x-secret`".to_owned(),
            );
        }
    }
}

/// Notes the schema of an event's data, so that its `contentSchema` has an effect.
fn event_data<'a>(walk: &mut Walk<'_, 'a>, data: &NodeRef<'a>) {
    walk.event_data.insert(address(data.node));
    // In 3.0 this is no keyword of a schema, so it is visited from here only.
    if walk.dialect == Dialect::V30
        && let Some(schema) = data.key("contentSchema")
    {
        walk.enter_schema(&schema);
    }
}

/// Reports examples of JSON whose two forms, the value and its text, differ.
fn serialized(walk: &mut Walk<'_, '_>, media: &NodeRef<'_>, name: &str) {
    if !is_json(name) {
        return;
    }
    let examples = media.node.get("examples").and_then(Node::as_object);
    for example in examples.unwrap_or_default() {
        // An example that is elsewhere may be that of another media type too.
        let Some(text) = example.value.get("serializedValue") else {
            continue;
        };
        let Some(written) = text.as_str() else {
            continue;
        };
        // Some JSON is no value here: what is nested deeply, numbers beyond 64 bits and halves of
        // surrogate pairs.
        let is_json = serde_json::from_str::<IgnoredAny>(written).is_ok();
        let why = match (
            serde_json::from_str::<Value>(written),
            example.value.get("dataValue"),
        ) {
            (Err(_), _) if !is_json => format!("`{name}` is JSON, and this text is none"),
            (Ok(read), Some(data)) if !is_same(&read, &data.to_json()) => {
                "this text is that of another value than `dataValue`".to_owned()
            }
            _ => continue,
        };
        walk.warning(
            "contradicting-example",
            text.span,
            why,
            "write the JSON of `dataValue`, or remove one of them".to_owned(),
        );
    }
}

/// Returns whether two values of JSON are equal. Numbers are, in any notation.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Some(Ordering::Equal),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in = |(key, value)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(is_in)
        }
        _ => one == other,
    }
}

/// Returns the value of a field that documents have since 3.2, if this document may have it.
fn own<'a>(walk: &Walk<'_, 'a>, item: Item<'a>, key: &str) -> Option<&'a Node> {
    item.node.get(key).filter(|_| walk.dialect >= Dialect::V32)
}
