//! The node that a diagnostic is about, with the way to it, for the repairs to change.

use std::collections::HashMap;

use super::places::{Place, at, at_mut, pointer_of};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node, NodeValue};
use crate::overlay::draft::{DraftAction, actions};
use crate::overlay::node_mut;
use crate::source::{Sources, Span};

/// The node that a diagnostic is about.
pub(super) struct Site<'s> {
    root: &'s mut Node,
    path: &'s [usize],
    pub(super) diagnostic: &'s Diagnostic,
    sources: &'s Sources,
    /// The operation ids of the document, once a repair has asked for them.
    taken: &'s mut Option<HashMap<String, usize>>,
    /// The pointer of the schema whose keywords a repair has moved into the first branch of an
    /// `anyOf`, if it has.
    pub(super) moved: Option<String>,
    /// What a repair has changed, if that is recorded.
    record: Option<Record>,
}

/// The outermost node that a repair may have changed, as it was before.
#[derive(Default)]
struct Record {
    /// The length of the path that leads to the node, and the node; `None` before a change.
    before: Option<(usize, Node)>,
}

impl<'s> Site<'s> {
    /// Returns the site of a diagnostic, or `None` if an earlier repair has removed the node.
    pub(super) fn new(
        root: &'s mut Node,
        place: &'s Place,
        diagnostic: &'s Diagnostic,
        sources: &'s Sources,
        taken: &'s mut Option<HashMap<String, usize>>,
    ) -> Option<Self> {
        let site = Self {
            root,
            path: &place.path,
            diagnostic,
            sources,
            taken,
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
        let (length, before) = self.record?.before?;
        let path = &self.path[..length];
        let mut after = &*self.root;
        for index in path {
            after = match &after.value {
                NodeValue::Object(entries) => &entries.get(*index)?.value,
                NodeValue::Array(items) => items.get(*index)?,
                _ => return None,
            };
        }
        actions(self.root, path, &before, after, self.diagnostic)
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
            let location: Vec<u32> = self.path[length..kept]
                .iter()
                .map(|index| u32::try_from(*index).unwrap_or(u32::MAX))
                .collect();
            if let Some(place) = node_mut(&mut node, &location) {
                *place = inner;
            }
        }
        self.record.as_mut()?.before = Some((length, node));
        Some(())
    }

    /// Returns the number of levels from the node up to the document.
    pub(super) fn depth(&self) -> usize {
        self.path.len()
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
        collect: fn(&Node) -> HashMap<String, usize>,
    ) -> &mut HashMap<String, usize> {
        self.taken.get_or_insert_with(|| collect(self.root))
    }

    /// Returns the text of a span in its file.
    pub(super) fn text(&self, span: Span) -> &str {
        self.sources.text(span)
    }

    /// Returns the node `up` levels above, which is the node itself for 0.
    pub(super) fn node(&self, up: usize) -> Option<&Node> {
        let length = self.path.len().checked_sub(up)?;
        at(self.root, &self.path[..length])
    }

    /// Returns the node `up` levels above, to change it.
    pub(super) fn node_mut(&mut self, up: usize) -> Option<&mut Node> {
        self.keep(up);
        let length = self.path.len().checked_sub(up)?;
        at_mut(self.root, &self.path[..length])
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

    /// Returns the key of the node `up` levels above in its object.
    pub(super) fn key(&self, up: usize) -> Option<&str> {
        Some(self.entry(up)?.key.as_str())
    }

    /// Returns the levels up to the nearest node, or the node itself, that is the value of `key`.
    pub(super) fn above(&self, key: &str) -> Option<usize> {
        (0..self.path.len()).find(|up| self.key(*up) == Some(key))
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
    /// Returns the entries, to change them, if this is an object.
    pub(super) fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.value {
            NodeValue::Object(entries) => Some(entries),
            _ => None,
        }
    }

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
