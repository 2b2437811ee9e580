//! The values of a node's fields, as the model holds them.

use indexmap::IndexMap;
use serde_json::Value;

use crate::node::{Entry, Node};

/// The string under a key.
pub(super) fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.as_str().map(str::to_owned)
}

/// Whether a key says `true`.
pub(super) fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::as_bool) == Some(true)
}

pub(super) fn extensions(entries: &[Entry]) -> IndexMap<String, Value> {
    entries
        .iter()
        .filter(|entry| entry.key.starts_with("x-"))
        .map(|entry| (entry.key.clone(), entry.value.to_json()))
        .collect()
}
