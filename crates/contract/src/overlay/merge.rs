//! Merges nodes as Overlay 1.1 defines it: objects recursively, arrays one behind the other.

use std::collections::HashMap;

use super::read::Version;
use crate::node::{Entry, Node, NodeValue};
use crate::source::Span;

/// A value that cannot be merged with that of the document.
#[derive(Debug)]
pub(super) struct Mismatch {
    /// The value in the update.
    pub(super) update: Span,
    /// The value in the document.
    pub(super) target: Span,
    pub(super) message: String,
    pub(super) help: String,
}

/// The kinds of nodes that an update treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    Primitive,
}

impl Kind {
    pub(super) fn of(node: &Node) -> Self {
        match node.value {
            NodeValue::Object(_) => Self::Object,
            NodeValue::Array(_) => Self::Array,
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => {
                Self::Primitive
            }
        }
    }
}

/// Merges an update with a node that the target of an action selects.
///
/// # Errors
///
/// Returns the first value that does not fit; what comes before it has been merged.
pub(super) fn update(target: &mut Node, update: &Node, version: Version) -> Result<(), Mismatch> {
    let is_1_0 = version == Version::V1_0;
    if is_1_0 && Kind::of(target) == Kind::Primitive {
        return Err(Mismatch {
            update: update.span,
            target: target.span,
            message: format!(
                "Overlay 1.0 updates objects and arrays only, and the target is {}",
                target.kind()
            ),
            help: "write `overlay: 1.1.0`, or update the object that holds it".to_owned(),
        });
    }
    match &mut target.value {
        // In 1.0, an array is an item as anything else.
        NodeValue::Array(items) if is_1_0 || Kind::of(update) != Kind::Array => {
            items.push(update.clone());
            Ok(())
        }
        _ => merge(target, update),
    }
}

fn merge_entries(entries: &mut Vec<Entry>, updates: &[Entry]) -> Result<(), Mismatch> {
    // Comparing each key with each would be quadratic in the size of the overlay.
    let positions: Vec<Option<usize>> = {
        let known: HashMap<&str, usize> = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| (entry.key.as_str(), index))
            .collect();
        updates
            .iter()
            .map(|entry| known.get(entry.key.as_str()).copied())
            .collect()
    };
    for (update, position) in updates.iter().zip(positions) {
        match position {
            Some(index) => merge(&mut entries[index].value, &update.value)?,
            None => entries.push(update.clone()),
        }
    }
    Ok(())
}

/// Merges two objects, two arrays or two primitives.
fn merge(target: &mut Node, update: &Node) -> Result<(), Mismatch> {
    if (Kind::of(target), Kind::of(update)) == (Kind::Primitive, Kind::Primitive) {
        *target = update.clone();
        return Ok(());
    }
    match (&mut target.value, &update.value) {
        (NodeValue::Object(entries), NodeValue::Object(updates)) => merge_entries(entries, updates),
        (NodeValue::Array(items), NodeValue::Array(more)) => {
            items.extend(more.iter().cloned());
            Ok(())
        }
        _ => Err(mismatch(target, update)),
    }
}

fn mismatch(target: &Node, update: &Node) -> Mismatch {
    Mismatch {
        update: update.span,
        target: target.span,
        message: format!("{} cannot be merged with {}", update.kind(), target.kind()),
        help: "to replace the value, remove it in an action before this one".to_owned(),
    }
}

/// Returns the size of a node, in nodes: 64 bytes of text count as one.
pub(super) fn weight(node: &Node) -> usize {
    let own = 1 + node.as_str().map_or(0, str::len) / 64;
    match &node.value {
        NodeValue::Array(items) => own + items.iter().map(weight).sum::<usize>(),
        NodeValue::Object(entries) => {
            let weights = entries
                .iter()
                .map(|entry| entry.key.len() / 64 + weight(&entry.value));
            own + weights.sum::<usize>()
        }
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => own,
    }
}

/// Returns the number of levels below a node.
pub(super) fn height(node: &Node) -> usize {
    let below = match &node.value {
        NodeValue::Array(items) => items.iter().map(height).max(),
        NodeValue::Object(entries) => entries.iter().map(|entry| height(&entry.value)).max(),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => None,
    };
    below.map_or(0, |below| below + 1)
}
