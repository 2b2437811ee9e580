//! Finds references in places where the standard has none.

use std::collections::HashSet;

use crate::documents::Documents;
use crate::keys::Keys;
use crate::model::Method;
use crate::node::{Entry, Node};
use crate::node_ref::{NodeRef, address};
use crate::pointer::tokens;
use crate::resolve::Resolver;
use crate::source::Span;

/// A reference in a wrong place.
pub(super) struct Misplaced {
    pub(super) what: What,
    /// The index of its document.
    pub(super) document: usize,
    /// The indices of the entries and items that lead to it.
    pub(super) path: Vec<usize>,
    /// The span of its key.
    pub(super) span: Span,
}

/// What the standard has in the place of a reference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Operation,
    Text,
    /// A map from names to objects, of which none is a reference by its name alone.
    Map,
}

/// The keys whose values are such maps, beside the properties of schemas.
const MAPS: [&str; 13] = [
    "callbacks",
    "content",
    "encoding",
    "headers",
    "links",
    "mediaTypes",
    "parameters",
    "pathItems",
    "paths",
    "requestBodies",
    "responses",
    "schemas",
    "securitySchemes",
];

/// Returns the references in place of the properties of a schema, in all documents.
pub(super) fn in_schemas(documents: &Documents) -> Vec<Misplaced> {
    in_maps(documents, &["properties"])
}

/// Returns the references in place of other maps, such as the content of a response or a section of
/// `components`, in all documents.
pub(super) fn in_sections(documents: &Documents) -> Vec<Misplaced> {
    in_maps(documents, &MAPS)
}

fn in_maps(documents: &Documents, keys: &'static [&'static str]) -> Vec<Misplaced> {
    let mut found = Vec::new();
    for (index, document) in documents.list.iter().enumerate() {
        if Some(index) != documents.metaschema {
            let mut search = Maps {
                keys,
                document: index,
                path: Vec::new(),
                found: &mut found,
            };
            search.node(&document.root, Keys::Keywords);
        }
    }
    found
}

struct Maps<'f> {
    keys: &'static [&'static str],
    document: usize,
    path: Vec<usize>,
    found: &'f mut Vec<Misplaced>,
}

impl Maps<'_> {
    // Recursive, since the readers bound how deep a document is.
    fn node(&mut self, node: &Node, keys: Keys) {
        for (index, entry) in entries(node) {
            self.path.push(index);
            self.entry(entry, keys);
            self.path.pop();
        }
        for (index, item) in node.as_array().unwrap_or_default().iter().enumerate() {
            self.path.push(index);
            self.node(item, Keys::Keywords);
            self.path.pop();
        }
    }

    fn entry(&mut self, entry: &Entry, keys: Keys) {
        let key = entry.key.as_str();
        // Where keys are names, one that is called `properties` may well hold a reference alone.
        if keys == Keys::Keywords && self.keys.contains(&key) && is_only_reference(&entry.value) {
            self.found.push(Misplaced {
                what: What::Map,
                document: self.document,
                path: self.path.clone(),
                span: entry.key_span,
            });
        } else if let Some(below) = keys.below(key) {
            self.node(&entry.value, below);
        }
    }
}

/// Returns the references in place of a text of the first document or of a tag.
pub(super) fn in_texts(documents: &Documents) -> Vec<Misplaced> {
    let mut found = Vec::new();
    let Some(document) = documents.list.first() else {
        return found;
    };
    for (top, section) in entries(&document.root) {
        match section.key.as_str() {
            "info" => texts(&section.value, &[top], &mut found),
            "tags" => {
                let tags = section.value.as_array().unwrap_or_default();
                for (index, tag) in tags.iter().enumerate() {
                    texts(tag, &[top, index], &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

fn texts(owner: &Node, path: &[usize], found: &mut Vec<Misplaced>) {
    for (index, entry) in entries(owner) {
        if entry.key == "description" && is_only_reference(&entry.value) {
            found.push(Misplaced {
                what: What::Text,
                document: 0,
                path: [path, &[index]].concat(),
                span: entry.key_span,
            });
        }
    }
}

/// Returns the references in place of an operation: in each path item of the contract, of its
/// webhooks and of its callbacks, in whichever document it is.
pub(super) fn in_path_items(documents: &Documents) -> Vec<Misplaced> {
    let Some(document) = documents.list.first() else {
        return Vec::new();
    };
    let mut search = Operations {
        resolver: Resolver::new(documents),
        seen: HashSet::new(),
        pending: Vec::new(),
        found: Vec::new(),
    };
    let root = Spot {
        document: 0,
        path: Vec::new(),
        node: &document.root,
    };
    for (section, at) in root.entries() {
        match section.key.as_str() {
            "paths" | "webhooks" => search.pending.extend(at.entries().map(|(_, item)| item)),
            "components" => {
                for (section, at) in at.entries() {
                    match section.key.as_str() {
                        "pathItems" => search.pending.extend(at.entries().map(|(_, item)| item)),
                        "callbacks" => search.callbacks(&at),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    while let Some(item) = search.pending.pop() {
        search.path_item(item);
    }
    search.found
}

/// A node, with the way to it.
struct Spot<'d> {
    document: usize,
    /// The indices of the entries and items that lead to the node.
    path: Vec<usize>,
    node: &'d Node,
}

impl<'d> Spot<'d> {
    fn entries(&self) -> impl Iterator<Item = (&'d Entry, Spot<'d>)> {
        entries(self.node).map(|(index, entry)| {
            let at = Spot {
                document: self.document,
                path: [self.path.as_slice(), &[index]].concat(),
                node: &entry.value,
            };
            (entry, at)
        })
    }
}

struct Operations<'d> {
    resolver: Resolver<'d>,
    /// The addresses of the path items and callbacks that were searched.
    seen: HashSet<usize>,
    /// The path items to search. On the heap, since references can chain more of them than the
    /// stack has room for.
    pending: Vec<Spot<'d>>,
    found: Vec<Misplaced>,
}

impl<'d> Operations<'d> {
    fn path_item(&mut self, at: Spot<'d>) {
        let Some(item) = self.followed(at) else {
            return;
        };
        for (entry, at) in item.entries() {
            let is_method = |method: &Method| method.key() == entry.key;
            if Method::FIXED.iter().any(is_method) {
                self.operation(entry, at);
            } else if entry.key == "additionalOperations" {
                for (entry, at) in at.entries() {
                    self.operation(entry, at);
                }
            }
        }
    }

    fn operation(&mut self, entry: &Entry, at: Spot<'d>) {
        if is_only_reference(at.node) {
            self.found.push(Misplaced {
                what: What::Operation,
                document: at.document,
                path: at.path,
                span: entry.key_span,
            });
            return;
        }
        for (entry, callbacks) in at.entries() {
            if entry.key == "callbacks" {
                self.callbacks(&callbacks);
            }
        }
    }

    /// Queues the path items of callbacks.
    fn callbacks(&mut self, callbacks: &Spot<'d>) {
        for (_, callback) in callbacks.entries() {
            if let Some(callback) = self.followed(callback) {
                let items = callback.entries().map(|(_, item)| item);
                self.pending.extend(items);
            }
        }
    }

    /// Follows the references of a path item or a callback. Returns `None` if it was searched
    /// before, or does not exist.
    fn followed(&mut self, at: Spot<'d>) -> Option<Spot<'d>> {
        // The pointer is only read where a reference led elsewhere, so it is not made here.
        let end = self.resolver.follow(&NodeRef {
            document: at.document,
            node: at.node,
            pointer: "".into(),
        })?;
        // Several references may lead to one path item, and callbacks in a cycle.
        if !self.seen.insert(address(end.node)) {
            return None;
        }
        if std::ptr::eq(end.node, at.node) {
            return Some(at);
        }
        let document = &self.resolver.documents.list[end.document];
        let pointer = &end.pointer[document.pointer().len()..];
        Some(Spot {
            document: end.document,
            path: path_of(&document.root, pointer)?,
            node: end.node,
        })
    }
}

/// Returns the indices of the entries and items to which a pointer leads.
fn path_of(root: &Node, pointer: &str) -> Option<Vec<usize>> {
    let mut at = root;
    let mut path = Vec::new();
    for token in tokens(pointer) {
        let index = match at.as_object() {
            Some(entries) => entries.iter().position(|entry| entry.key == token)?,
            // By the place and not the name: a list has no keys.
            None => token.parse().ok()?,
        };
        path.push(index);
        at = at.at([index])?;
    }
    Some(path)
}

fn entries(node: &Node) -> impl Iterator<Item = (usize, &Entry)> {
    node.as_object().unwrap_or_default().iter().enumerate()
}

fn is_only_reference(node: &Node) -> bool {
    node.as_object().is_some_and(|entries| entries.len() == 1)
        && node.get("$ref").is_some_and(|text| text.as_str().is_some())
}
