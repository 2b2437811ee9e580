//! References to nodes: a node together with its document and its pointer.

use std::rc::Rc;

use crate::node::{Entry, Node};
use crate::pointer;

/// A node, with the index of its document and its pointer.
///
/// Pointers into files other than the first start with `/$files/` and the path of the file.
#[derive(Debug, Clone)]
pub(crate) struct NodeRef<'a> {
    /// The index of the document.
    pub(crate) document: usize,
    /// The node.
    pub(crate) node: &'a Node,
    /// The pointer.
    pub(crate) pointer: Rc<str>,
}

impl<'a> NodeRef<'a> {
    /// Returns the value of a key, if this is an object that has it.
    pub(crate) fn key(&self, key: &str) -> Option<NodeRef<'a>> {
        Some(self.child(key, self.node.get(key)?))
    }

    /// Returns a child of this node, under a key or an index.
    pub(crate) fn child(&self, token: &str, node: &'a Node) -> NodeRef<'a> {
        NodeRef {
            document: self.document,
            node,
            pointer: pointer::join(&self.pointer, token).into(),
        }
    }

    /// Returns the entries, each with a reference to its value, if this is an object.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a Entry, NodeRef<'a>)> {
        let at = self.clone();
        self.node
            .as_object()
            .unwrap_or_default()
            .iter()
            .map(move |entry| (entry, at.child(&entry.key, &entry.value)))
    }

    /// Returns references to the items, if this is an array.
    pub(crate) fn items(&self) -> impl Iterator<Item = NodeRef<'a>> {
        let at = self.clone();
        self.node
            .as_array()
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(move |(index, item)| at.child(&index.to_string(), item))
    }
}

/// Returns the identity of a node: its address in memory, since nodes do not move during a run.
pub(crate) fn address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

/// Returns the value of a node's `$ref`, if it has one that is a string.
pub(crate) fn reference_of(node: &Node) -> Option<&str> {
    node.get("$ref")?.as_str()
}
