//! References to nodes: a node, with the document and the pointer at which it stands.

use std::rc::Rc;

use crate::node::{Entry, Node};
use crate::pointer;

/// A node, the document that it is in, and its pointer.
///
/// Pointers into other files than the first start with `/$files/` and the file's path.
#[derive(Debug, Clone)]
pub(crate) struct NodeRef<'a> {
    /// Index of the document.
    pub(crate) document: usize,
    /// The node.
    pub(crate) node: &'a Node,
    /// The pointer.
    pub(crate) pointer: Rc<str>,
}

impl<'a> NodeRef<'a> {
    /// The value of a key.
    pub(crate) fn key(&self, key: &str) -> Option<NodeRef<'a>> {
        Some(self.child(key, self.node.get(key)?))
    }

    /// A value below this one, under a key or an index.
    pub(crate) fn child(&self, token: &str, node: &'a Node) -> NodeRef<'a> {
        NodeRef {
            document: self.document,
            node,
            pointer: pointer::join(&self.pointer, token).into(),
        }
    }

    /// The entries with their places, if this is an object.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a Entry, NodeRef<'a>)> {
        let at = self.clone();
        self.node
            .as_object()
            .unwrap_or_default()
            .iter()
            .map(move |entry| (entry, at.child(&entry.key, &entry.value)))
    }

    /// The items with their places, if this is an array.
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

/// The identity of a node within one run.
pub(crate) fn address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

/// The reference that a node consists of, if it has one.
pub(crate) fn reference_of(node: &Node) -> Option<&str> {
    node.get("$ref")?.as_str()
}
