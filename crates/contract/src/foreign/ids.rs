//! Repairs of operation ids that several operations have.

use std::collections::HashMap;

use super::operations::declared;
use super::places::count;
use super::site::Site;
use crate::node::{Entry, Node, NodeValue};

/// The number of nodes of path items that are copied into the places of references to them, in one
/// document.
pub(super) const MOST_IN_ITEMS: usize = 1_000_000;

/// An operation id of a document.
pub(super) struct KnownId {
    /// The number of operations that have it.
    pub(super) uses: usize,
    /// The number to try next behind it, for another id.
    next: usize,
}

impl Default for KnownId {
    fn default() -> Self {
        Self { uses: 0, next: 2 }
    }
}

/// Gives an operation an id of its own: its id with the method and the path behind it, and a number
/// if another operation has that id.
pub(super) fn rename_operation(site: &mut Site<'_>) -> Option<()> {
    let id = site.node(0)?.as_str()?.to_owned();
    // Of an alias in YAML, and of a path item of another file, each use is reported at one span.
    let is_reported = site.diagnostic.subject.as_deref() == Some(&id);
    is_reported.then_some(())?;
    let is_repeated = site.has_renamed_id();
    let known = site.taken(operation_ids).entry(id.clone()).or_default();
    // The uses are renamed from the last to the first, which keeps the id.
    if is_repeated && known.uses < 2 {
        return None;
    }
    known.uses = known.uses.saturating_sub(1);
    let own = own_id(&id, site.key(1)?, site.key(2)?);
    let free = unique(site.taken(operation_ids), &own);
    site.node_mut(0)?.value = NodeValue::String(free);
    site.note_renamed_id();
    Some(())
}

/// Gives a path its own copy of the path item that another path refers to as well, in which the
/// operation has an id of its own.
pub(super) fn own_item(site: &mut Site<'_>) -> Option<()> {
    let id = site.diagnostic.subject.clone()?;
    let path = site.key(0)?.to_owned();
    let item = site.node(0)?;
    item.as_object()?;
    // Another operation of the path item may have made the copy.
    if item.get("$ref").is_some() {
        let target = declared(site.root(), item)?;
        if target.get("$ref").is_some() {
            return None;
        }
        let nodes = count(target, MOST_IN_ITEMS)?;
        let shared = target.as_object()?.to_vec();
        site.charge(nodes)?;
        let item = site.node_mut(0)?;
        item.take("$ref")?;
        let own = item.entries_mut()?;
        for entry in shared {
            // What stands beside the reference is preferred.
            if own.iter().all(|other| other.key != entry.key) {
                own.push(entry);
            }
        }
    }
    let has_id = |entry: &Entry| {
        let own = entry.value.get("operationId").and_then(Node::as_str);
        own == Some(id.as_str())
    };
    let item = site.node(0)?;
    let method_of = |item: &Node| {
        let entry = item.as_object()?.iter().find(|entry| has_id(entry))?;
        Some(entry.key.clone())
    };
    let (section, method) = match method_of(item) {
        Some(method) => (None, method),
        None => (Some(ADDITIONAL), method_of(item.get(ADDITIONAL)?)?),
    };
    let free = unique(site.taken(operation_ids), &own_id(&id, &method, &path));
    let mut holder = site.node_mut(0)?;
    if let Some(section) = section {
        holder = holder.entry_value_mut(section)?;
    }
    holder
        .entry_value_mut(&method)?
        .set("operationId", NodeValue::String(free))
}

/// The field of a path item with the operations that have no field of their own.
const ADDITIONAL: &str = "additionalOperations";

/// Returns the id of an operation with its method and path behind it.
fn own_id(id: &str, method: &str, path: &str) -> String {
    let words: Vec<&str> = path
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    format!("{id}_{method}_{}", words.join("_"))
}

/// Takes an id, with a number behind it if it is taken.
fn unique(taken: &mut HashMap<String, KnownId>, id: &str) -> String {
    let mut free = id.to_owned();
    while taken.contains_key(&free) {
        let known = taken.entry(id.to_owned()).or_default();
        free = format!("{id}_{}", known.next);
        known.next += 1;
    }
    taken.entry(free.clone()).or_default().uses = 1;
    free
}

/// Returns the ids of all operations of a document, with those of webhooks and callbacks.
fn operation_ids(root: &Node) -> HashMap<String, KnownId> {
    let mut ids: HashMap<String, KnownId> = HashMap::new();
    let mut pending: Vec<&Node> = ["paths", "webhooks"]
        .into_iter()
        .filter_map(|key| root.get(key))
        .collect();
    let components = root.get("components");
    let shared = components.and_then(|components| components.get("pathItems"));
    pending.extend(shared);
    let callbacks = components.and_then(|components| components.get("callbacks"));
    pending.extend(values(callbacks));
    while let Some(items) = pending.pop() {
        let operations = values(Some(items))
            .flat_map(|item| values(Some(item)).chain(values(item.get(ADDITIONAL))));
        for operation in operations {
            if let Some(id) = operation.get("operationId").and_then(Node::as_str) {
                ids.entry(id.to_owned()).or_default().uses += 1;
            }
            pending.extend(values(operation.get("callbacks")));
        }
    }
    ids
}

/// Returns the values of an object, or nothing if there is none.
fn values(node: Option<&Node>) -> impl Iterator<Item = &Node> {
    let entries = node.and_then(Node::as_object).unwrap_or_default();
    entries.iter().map(|entry| &entry.value)
}
