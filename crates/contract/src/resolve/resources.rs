//! Schemas with `$id`, and anchors: what references can name other than by pointer.

use std::collections::HashMap;

use jsonschema::Uri;

use crate::documents::Documents;
use crate::node::Node;
use crate::node_ref::{NodeRef, address, reference_of};
use crate::uri;

/// A schema with `$id`, which is the root for references inside it.
pub(super) struct Resource<'a> {
    base: Uri<String>,
    pub(super) root: NodeRef<'a>,
    /// The index of the resource that contains this one.
    outer: Option<usize>,
}

/// A step from a node to a child.
#[derive(Clone, Copy)]
enum Token<'a> {
    Key(&'a str),
    Index(usize),
}

/// Schemas with an `$id`, and anchors.
#[derive(Default)]
pub(super) struct Resources<'a> {
    pub(super) list: Vec<Resource<'a>>,
    by_uri: HashMap<String, usize>,
    /// The nodes with an anchor by its name, for each document and each resource in it, or for the
    /// part of the document outside of resources.
    anchors: HashMap<(usize, Option<usize>), HashMap<&'a str, NodeRef<'a>>>,
    /// The index of the resource that contains an object with `$ref`, by the address of the object.
    scopes: HashMap<usize, usize>,
}

impl<'a> Resources<'a> {
    pub(super) fn of(documents: &'a Documents) -> Self {
        let mut resources = Self::default();
        for (index, document) in documents.list.iter().enumerate() {
            if document.has_resources {
                let root = NodeRef {
                    document: index,
                    node: &document.root,
                    pointer: document.pointer().into(),
                };
                resources.scan(&root, document.address());
            }
        }
        resources
    }

    /// Records every `$id` and anchor below a root.
    fn scan(&mut self, root: &NodeRef<'a>, document: Option<&Uri<String>>) {
        // A pointer is built only when its node is visited: the pointers of all nodes can take far
        // more memory than the document.
        let mut pending = vec![(root.clone(), None, root.node, None)];
        while let Some((parent, token, node, outer)) = pending.pop() {
            let at: NodeRef<'a> = match token {
                Some(Token::Key(key)) => parent.child(key, node),
                Some(Token::Index(index)) => parent.child(&index.to_string(), node),
                None => parent,
            };
            let mut scope = outer;
            if let Some(id) = at.node.get("$id").and_then(Node::as_str)
                && let Some(base) = self.absolute(outer, document, id)
            {
                scope = Some(self.list.len());
                self.by_uri
                    // If two schemas declare the same `$id`, the first one counts: later ones must
                    // not change the meaning of references that resolve already.
                    .entry(base.as_str().to_owned())
                    .or_insert(self.list.len());
                self.list.push(Resource {
                    base,
                    root: at.clone(),
                    outer,
                });
            }
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = at.node.get(keyword).and_then(Node::as_str) {
                    self.anchors
                        .entry((at.document, scope))
                        .or_default()
                        .entry(name)
                        .or_insert_with(|| at.clone());
                }
            }
            if let Some(scope) = scope
                && (reference_of(at.node).is_some() || at.node.get("$dynamicRef").is_some())
            {
                self.scopes.insert(address(at.node), scope);
            }
            let entries = node.as_object().unwrap_or_default().iter();
            pending.extend(entries.map(|entry| {
                let key = Token::Key(entry.key.as_str());
                (at.clone(), Some(key), &entry.value, scope)
            }));
            let items = node.as_array().unwrap_or_default().iter().enumerate();
            pending.extend(
                items.map(|(index, item)| (at.clone(), Some(Token::Index(index)), item, scope)),
            );
        }
    }

    /// Returns the address of an `$id`, or of a reference to one. If no resource around it and
    /// no document has an address, a relative one is used as written, so that references still find
    /// the `$id`.
    fn absolute(
        &self,
        resource: Option<usize>,
        document: Option<&Uri<String>>,
        reference: &str,
    ) -> Option<Uri<String>> {
        match (resource, document) {
            (None, None) => {
                jsonschema::uri::from_str(reference.split('#').next().unwrap_or_default()).ok()
            }
            _ => self.address(resource, document, reference),
        }
    }

    /// Returns the address of a reference, relative to the enclosing resource or else to the
    /// document.
    pub(super) fn address(
        &self,
        resource: Option<usize>,
        document: Option<&Uri<String>>,
        reference: &str,
    ) -> Option<Uri<String>> {
        let base = resource.map(|index| &self.list[index].base).or(document);
        uri::absolute(base, reference)
    }

    /// Returns the index of the resource that contains an object with a reference, if any does.
    pub(super) fn scope(&self, holder: &Node) -> Option<usize> {
        if self.scopes.is_empty() {
            return None;
        }
        self.scopes.get(&address(holder)).copied()
    }

    /// Returns the schema with a dynamic anchor in the outermost of the resources that contain an
    /// object.
    pub(super) fn outermost(
        &self,
        document: usize,
        holder: &Node,
        name: &str,
    ) -> Option<NodeRef<'a>> {
        let mut found = None;
        let mut next = Some(self.scope(holder)?);
        // Walk outwards and keep the last match, which is the outermost.
        while let Some(resource) = next {
            let anchors = self.anchors.get(&(document, Some(resource)));
            let here = anchors.and_then(|anchors| anchors.get(name));
            found = here
                .filter(|at| at.node.get("$dynamicAnchor").is_some())
                .cloned()
                .or(found);
            next = self.list[resource].outer;
        }
        found
    }

    /// Returns the index of the resource that `target`, the part of a reference before `#`,
    /// identifies.
    pub(super) fn find(
        &self,
        resource: Option<usize>,
        document: Option<&Uri<String>>,
        target: &str,
    ) -> Option<usize> {
        if self.list.is_empty() {
            return None;
        }
        let wanted = self.absolute(resource, document, target)?;
        self.by_uri.get(wanted.as_str()).copied()
    }

    /// Returns the schema with an anchor in a resource, or in the document outside of resources.
    pub(super) fn anchor(
        &self,
        document: usize,
        owner: Option<usize>,
        name: &str,
    ) -> Option<NodeRef<'a>> {
        self.anchors.get(&(document, owner))?.get(name).cloned()
    }
}
