//! The node that a diagnostic is about, with the way to it, for the repairs to change.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::ids::{KnownId, MOST_IN_ITEMS};
use super::places::{Place, pointer_of};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, NodeValue};
use crate::overlay::draft::{DraftAction, actions, added, removed};
use crate::source::{Sources, Span};

/// The node that a diagnostic is about.
pub(super) struct Site<'s> {
    root: &'s mut Node,
    path: &'s [usize],
    pub(super) diagnostic: &'s Diagnostic,
    sources: &'s Sources,
    index: &'s mut Index,
    /// The pointer of the schema whose keywords a repair has moved into the first branch of an
    /// `anyOf`, if it has.
    pub(super) moved: Option<String>,
    /// What a repair has changed, if that is recorded.
    record: Option<Record>,
}

/// What the repairs of a turn look up in a document again and again, once one has asked for it.
#[derive(Default)]
pub(super) struct Index {
    /// The operation ids.
    ids: Option<HashMap<String, KnownId>>,
    /// The spans of the operation ids that were replaced at one place or more.
    renamed_ids: HashSet<Span>,
    /// The number of nodes that were copied in place of references in turns before.
    copied_before: usize,
    /// The number of nodes that were copied in this turn.
    copied: usize,
    /// The names in those sections of `components` to which a repair has added something.
    components: HashMap<String, HashSet<String>>,
    /// The first path of each shape, which a repair chooses.
    shapes: Option<HashMap<String, String>>,
    /// The number of paths that were renamed, in all documents and turns.
    renamed: Rc<Cell<usize>>,
}

impl Index {
    /// Returns an empty index, for a turn before which so many nodes were copied. `renamed` is the
    /// number of paths that were renamed.
    pub(super) fn after(copied_before: usize, renamed: Rc<Cell<usize>>) -> Self {
        Self {
            copied_before,
            renamed,
            ..Self::default()
        }
    }

    /// Returns the number of nodes that were copied in this turn.
    pub(super) fn copied(&self) -> usize {
        self.copied
    }
}

/// The maximum number of paths that are renamed: for an overlay, each keeps a copy of all paths.
const MOST_RENAMED: usize = 500;

/// What a repair has changed.
#[derive(Default)]
struct Record {
    /// The outermost node that the repair may have changed, as it was before, with the length of
    /// the path that leads to it; `None` before a change.
    before: Option<(usize, Node)>,
    /// The actions that make the change, if the repair has noted them as it made it.
    made: Vec<DraftAction>,
}

impl<'s> Site<'s> {
    /// Returns the site of a diagnostic, or `None` if an earlier repair has removed the node.
    pub(super) fn new(
        root: &'s mut Node,
        place: &'s Place,
        diagnostic: &'s Diagnostic,
        sources: &'s Sources,
        index: &'s mut Index,
    ) -> Option<Self> {
        let site = Self {
            root,
            path: &place.path,
            diagnostic,
            sources,
            index,
            moved: None,
            record: None,
        };
        let span = diagnostic.span;
        let is_there = site.node(0)?.span == span
            || site.entry(0).is_some_and(|entry| {
                let key = entry.key_span;
                key.file == span.file && key.start <= span.start && span.end <= key.end
            });
        is_there.then_some(site)
    }

    /// Records what a repair changes, for [`actions`](Self::actions).
    pub(super) fn record(&mut self) {
        self.record = Some(Record::default());
    }

    /// Returns the actions of an overlay that make the same changes as the repair, or `None` if
    /// there are none or nothing was recorded.
    pub(super) fn actions(self) -> Option<Vec<DraftAction>> {
        let record = self.record?;
        if !record.made.is_empty() {
            return Some(record.made);
        }
        let (length, before) = record.before?;
        let path = &self.path[..length];
        let after = self.root.at(path.iter().copied())?;
        actions(self.root, path, &before, after, self.diagnostic)
    }

    /// Takes back the recorded change of a repair.
    pub(super) fn revert(self) {
        let Some((length, before)) = self.record.and_then(|record| record.before) else {
            return;
        };
        let path = self.path[..length].iter().copied();
        if let Some(node) = self.root.at_mut(path) {
            *node = before;
        }
    }

    /// Keeps the node `up` levels above as it is, unless what holds it was kept already.
    fn keep(&mut self, up: usize) -> Option<()> {
        let length = self.path.len().checked_sub(up)?;
        let before = self.record.as_ref()?.before.as_ref();
        if before.is_some_and(|(kept, _)| *kept <= length) {
            return Some(());
        }
        let mut node = self.node(up)?.clone();
        let inner = self.record.as_mut()?.before.take();
        // What an earlier step of the repair has changed goes back to what it was.
        if let Some((kept, inner)) = inner {
            let below = self.path[length..kept].iter().copied();
            if let Some(place) = node.at_mut(below) {
                *place = inner;
            }
        }
        self.record.as_mut()?.before = Some((length, node));
        Some(())
    }

    /// Returns the pointer of the node.
    pub(super) fn pointer(&self) -> String {
        pointer_of(self.root, self.path)
    }

    /// Returns the pointer of the node `up` levels above.
    pub(super) fn pointer_above(&self, up: usize) -> Option<String> {
        let length = self.path.len().checked_sub(up)?;
        Some(pointer_of(self.root, &self.path[..length]))
    }

    /// Returns the root of the document.
    pub(super) fn root(&self) -> &Node {
        self.root
    }

    /// Returns the operation ids of the document, which `collect` finds for the first repair of a
    /// turn that asks for them.
    pub(super) fn taken(
        &mut self,
        collect: fn(&Node) -> HashMap<String, KnownId>,
    ) -> &mut HashMap<String, KnownId> {
        self.index.ids.get_or_insert_with(|| collect(self.root))
    }

    /// Returns whether the operation id of the diagnostic was replaced at another place already.
    pub(super) fn has_renamed_id(&self) -> bool {
        self.index.renamed_ids.contains(&self.diagnostic.span)
    }

    /// Notes that the operation id of the diagnostic was replaced.
    pub(super) fn note_renamed_id(&mut self) {
        self.index.renamed_ids.insert(self.diagnostic.span);
    }

    /// Counts nodes that are copied in place of a reference to a path item. Returns `None` after too
    /// many.
    pub(super) fn charge(&mut self, nodes: usize) -> Option<()> {
        let copied = self.index.copied + nodes;
        if self.index.copied_before + copied > MOST_IN_ITEMS {
            return None;
        }
        self.index.copied = copied;
        Some(())
    }

    /// Returns the first path of a shape. `collect` finds that of each for the first repair of a turn
    /// that asks for one.
    pub(super) fn first_path(
        &mut self,
        shape: &str,
        collect: fn(&Node) -> HashMap<String, String>,
    ) -> Option<&str> {
        let shapes = self.index.shapes.get_or_insert_with(|| collect(self.root));
        shapes.get(shape).map(String::as_str)
    }

    /// Adds a component to the document, unless it has one of that name.
    ///
    /// The change is recorded as it is made: to compare the whole document with what it was would
    /// take as long for each component.
    pub(super) fn declare(&mut self, section: &str, name: &str, value: NodeValue) -> Option<()> {
        let existing = self.root.get("components");
        let of_section = existing.and_then(|components| components.get(section));
        // What is no object has a diagnostic of its own, and nothing can be added to it.
        for node in existing.into_iter().chain(of_section) {
            node.as_object()?;
        }
        let depth = usize::from(existing.is_some()) + usize::from(of_section.is_some());
        let known = &mut self.index.components;
        let known = known.entry(section.to_owned()).or_insert_with(|| {
            let entries = of_section.and_then(Node::as_object).unwrap_or_default();
            entries.iter().map(|entry| entry.key.clone()).collect()
        });
        if !known.insert(name.to_owned()) {
            // Another reference to it has declared it.
            return Some(());
        }
        let span = self.root.span;
        let component = Node { span, value };
        if let Some(record) = &mut self.record {
            let keys = ["components", section, name];
            let json = component.to_json();
            record.made.push(added(&keys, depth, json, self.diagnostic));
        }
        let section = self.root.child("components")?.child(section)?;
        section.entries_mut()?.push(Entry {
            key: name.to_owned(),
            key_span: span,
            value: component,
        });
        Some(())
    }

    /// Moves operations, each with its method, from the path that has the node as its value to
    /// another path, and removes the path.
    ///
    /// The change is recorded as it is made: to keep a copy of all paths for each of many would take
    /// too much.
    pub(super) fn move_operations(&mut self, to: &str, operations: Vec<Entry>) -> Option<()> {
        let from = self.key(0)?.to_owned();
        let [paths, _] = self.path[..] else {
            return None;
        };
        let entries = self.root.entries_mut()?.get_mut(paths)?;
        let all = entries.value.entries_mut()?;
        let target = all.iter_mut().find(|entry| entry.key == to)?;
        if let Some(record) = &mut self.record {
            let moved = operations.iter();
            let moved = moved.map(|entry| (entry.key.clone(), entry.value.to_json()));
            let keys = ["paths", to];
            let update = added(&keys, 2, moved.collect(), self.diagnostic);
            record.made.push(update);
            record
                .made
                .push(removed(&["paths", &from], self.diagnostic));
        }
        target.value.entries_mut()?.extend(operations);
        all.retain(|entry| entry.key != from);
        Some(())
    }

    /// Returns the text of a span in its file.
    pub(super) fn text(&self, span: Span) -> &str {
        self.sources.text(span)
    }

    /// Returns the node `up` levels above, which is the node itself for 0.
    pub(super) fn node(&self, up: usize) -> Option<&Node> {
        let length = self.path.len().checked_sub(up)?;
        self.root.at(self.path[..length].iter().copied())
    }

    /// Returns the node `up` levels above, to change it.
    pub(super) fn node_mut(&mut self, up: usize) -> Option<&mut Node> {
        self.keep(up);
        let length = self.path.len().checked_sub(up)?;
        self.root.at_mut(self.path[..length].iter().copied())
    }

    /// Returns the entry of an object that has the node `up` levels above as its value.
    pub(super) fn entry(&self, up: usize) -> Option<&Entry> {
        let index = *self.path.get(self.path.len().checked_sub(up + 1)?)?;
        self.node(up + 1)?.as_object()?.get(index)
    }

    /// Returns the entry of an object that has the node as its value, to change it.
    pub(super) fn entry_mut(&mut self) -> Option<&mut Entry> {
        let index = *self.path.last()?;
        self.node_mut(1)?.entries_mut()?.get_mut(index)
    }

    /// Renames the path that has the node as its value. Returns `None` after too many.
    pub(super) fn rename_path(&mut self, path: String) -> Option<()> {
        let renamed = self.index.renamed.get();
        if renamed >= MOST_RENAMED {
            return None;
        }
        self.index.renamed.set(renamed + 1);
        self.entry_mut()?.key = path;
        Some(())
    }

    /// Returns the key of the node `up` levels above in its object.
    pub(super) fn key(&self, up: usize) -> Option<&str> {
        Some(self.entry(up)?.key.as_str())
    }

    /// Returns the levels up to the nearest node, or the node itself, that is the value of `key`.
    pub(super) fn above(&self, key: &str) -> Option<usize> {
        (0..self.path.len()).find(|up| self.key(*up) == Some(key))
    }

    /// Returns the number of levels up to the outermost node at a key, or that node itself as 0. A key
    /// below one that holds a map is a name and does not count.
    pub(super) fn outermost(&self, key: &str, holds_map: impl Fn(&str) -> bool) -> Option<usize> {
        // A name can be that of a map, such as a property called `headers`, so each level needs to
        // know what the one above is.
        let mut is_name = false;
        (0..self.path.len()).rev().find(|up| {
            let is_map = self.key(up + 1).is_some_and(&holds_map);
            is_name = is_map && !is_name;
            self.key(*up) == Some(key) && !is_name
        })
    }

    /// Removes the node `up` levels above from the object or array that holds it.
    pub(super) fn remove(&mut self, up: usize) -> Option<()> {
        let index = *self.path.get(self.path.len().checked_sub(up + 1)?)?;
        match &mut self.node_mut(up + 1)?.value {
            NodeValue::Object(entries) if index < entries.len() => drop(entries.remove(index)),
            NodeValue::Array(items) if index < items.len() => drop(items.remove(index)),
            _ => return None,
        }
        Some(())
    }
}

impl Node {
    /// Sets the value of a key of an object. A new value has the span of the object.
    pub(super) fn set(&mut self, key: &str, value: NodeValue) -> Option<()> {
        let span = self.span;
        let entries = self.entries_mut()?;
        match entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.value.value = value,
            None => entries.push(Entry {
                key: key.to_owned(),
                key_span: span,
                value: Node { span, value },
            }),
        }
        Some(())
    }

    /// Adds a key with a node, which keeps its span, to an object.
    pub(super) fn put(&mut self, key: &str, value: Node) {
        if let Some(entries) = self.entries_mut() {
            entries.push(Entry {
                key: key.to_owned(),
                key_span: value.span,
                value,
            });
        }
    }

    /// Returns the object at a key of an object, which is added if it is missing.
    fn child(&mut self, key: &str) -> Option<&mut Node> {
        if self.get(key).is_none() {
            self.set(key, NodeValue::Object(Vec::new()))?;
        }
        self.entry_value_mut(key)
    }

    /// Returns the value of a key of an object, to change it.
    pub(super) fn entry_value_mut(&mut self, key: &str) -> Option<&mut Node> {
        let mut entries = self.entries_mut()?.iter_mut();
        let entry = entries.find(|entry| entry.key == key)?;
        Some(&mut entry.value)
    }

    /// Removes a key of an object, and returns its value.
    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        let entries = self.entries_mut()?;
        let index = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(index).value)
    }
}

/// Returns an object with these entries, which have its span.
pub(super) fn object<const N: usize>(span: Span, entries: [(&str, NodeValue); N]) -> Node {
    let entries = entries.map(|(key, value)| Entry {
        key: key.to_owned(),
        key_span: span,
        value: Node { span, value },
    });
    Node {
        span,
        value: NodeValue::Object(entries.into()),
    }
}

/// Returns a string as a value.
pub(super) fn text(text: &str) -> NodeValue {
    NodeValue::String(text.to_owned())
}
