//! Finds the nodes that diagnostics are about, by their spans.

use std::collections::{HashMap, HashSet};

use crate::documents::Documents;
use crate::node::{Entry, Node, NodeValue};
use crate::pointer;
use crate::source::{Sources, Span};

/// A node of a document: the indices of the entries and items that lead to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The index of the document.
    pub(super) document: usize,
    /// The index of an entry or item at each level.
    pub(super) path: Vec<usize>,
}

impl Place {
    /// Returns the pointer of the node.
    pub(super) fn pointer(&self, documents: &Documents) -> String {
        let document = &documents.list[self.document];
        document.pointer() + &pointer_of(&document.root, &self.path)
    }

    /// Returns the line of the node that a span begins in, counted from the one that the node begins
    /// in, so that it does not change with the lines before.
    pub(super) fn line(
        &self,
        documents: &Documents,
        sources: &Sources,
        span: Span,
    ) -> Option<usize> {
        let root = &documents.list[self.document].root;
        let node = root.at(self.path.iter().copied())?;
        let line = |span: Span| sources.line_column(span).line;
        Some((line(span) + 1).saturating_sub(line(node.span)))
    }
}

/// Returns the pointer of the node that a path of indices leads to.
pub(super) fn pointer_of(root: &Node, path: &[usize]) -> String {
    let mut out = String::new();
    let mut at = root;
    for index in path {
        at = match &at.value {
            NodeValue::Object(entries) => {
                pointer::push(&mut out, &entries[*index].key);
                &entries[*index].value
            }
            NodeValue::Array(items) => {
                pointer::push(&mut out, &index.to_string());
                &items[*index]
            }
            _ => break,
        };
    }
    out
}

/// Returns the number of nodes of a tree, or `None` if it has more than `limit`.
pub(super) fn count(root: &Node, limit: usize) -> Option<usize> {
    let mut pending = vec![root];
    let mut count = 0;
    while let Some(node) = pending.pop() {
        count += 1;
        match &node.value {
            NodeValue::Object(entries) => pending.extend(entries.iter().map(|entry| &entry.value)),
            NodeValue::Array(items) => pending.extend(items),
            _ => {}
        }
        if count + pending.len() > limit {
            return None;
        }
    }
    Some(count)
}

/// Returns the places of the nodes whose value or key has one of the spans. Of an alias in YAML,
/// each use is a place.
pub(super) fn places(documents: &Documents, spans: &HashSet<Span>) -> HashMap<Span, Vec<Place>> {
    let mut search = Search {
        spans,
        found: HashMap::new(),
        place: Place {
            document: 0,
            path: Vec::new(),
        },
    };
    if spans.is_empty() {
        return search.found;
    }
    for (index, document) in documents.list.iter().enumerate() {
        if Some(index) != documents.metaschema {
            search.place.document = index;
            search.node(&document.root);
        }
    }
    search.found
}

/// Returns the place of the innermost node that contains a span, such as that of a line.
pub(super) fn around(documents: &Documents, span: Span) -> Option<Place> {
    let contains = |node: &Node| {
        node.span.file == span.file && node.span.start <= span.start && span.end <= node.span.end
    };
    let mut roots = documents.list.iter().map(|document| &document.root);
    let document = roots.position(contains)?;
    let mut path = Vec::new();
    let mut at = &documents.list[document].root;
    loop {
        let inner = match &at.value {
            NodeValue::Object(entries) => entries.iter().position(|entry| contains(&entry.value)),
            NodeValue::Array(items) => items.iter().position(contains),
            _ => None,
        };
        let Some(index) = inner else {
            return Some(Place { document, path });
        };
        path.push(index);
        at = at.at([index])?;
    }
}

struct Search<'s> {
    spans: &'s HashSet<Span>,
    found: HashMap<Span, Vec<Place>>,
    place: Place,
}

impl Search<'_> {
    // Recursive, since the readers bound how deep a document is.
    fn node(&mut self, node: &Node) {
        self.take(node.span);
        match &node.value {
            NodeValue::Object(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    self.place.path.push(index);
                    self.entry(entry);
                    self.node(&entry.value);
                    self.place.path.pop();
                }
            }
            NodeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.place.path.push(index);
                    self.node(item);
                    self.place.path.pop();
                }
            }
            _ => {}
        }
    }

    fn entry(&mut self, entry: &Entry) {
        self.take(entry.key_span);
        // A diagnostic about a path can point at a part of its key.
        if self.place.path.len() == 2 && entry.key.starts_with('/') {
            let key = entry.key_span;
            let within = |span: &&Span| {
                span.file == key.file
                    && span.start >= key.start
                    && span.end <= key.end
                    && **span != key
            };
            for span in self.spans.iter().filter(within) {
                self.found
                    .entry(*span)
                    .or_default()
                    .push(self.place.clone());
            }
        }
    }

    fn take(&mut self, span: Span) {
        if self.spans.contains(&span) {
            self.found.entry(span).or_default().push(self.place.clone());
        }
    }
}
