//! Reads fields of a node as the contract stores them.

use indexmap::IndexMap;
use serde_json::Value;

use crate::moment::Moment;
use crate::node::{Entry, Node};

/// Returns the value of a key, if it is a string.
pub(super) fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.as_str().map(str::to_owned)
}

/// Returns whether the value of a key is `true`.
pub(super) fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::as_bool) == Some(true)
}

/// Returns the value of a key of something that is deprecated, if it is a point in time.
pub(super) fn lifetime(node: &Node, key: &str) -> Option<Moment> {
    let moment = node.get(key)?.as_str().and_then(Moment::parse);
    moment.filter(|_| flag(node, "deprecated"))
}

pub(super) fn extensions(entries: &[Entry]) -> IndexMap<String, Value> {
    entries
        .iter()
        .filter(|entry| entry.key.starts_with("x-"))
        .map(|entry| (entry.key.clone(), entry.value.to_json()))
        .collect()
}
