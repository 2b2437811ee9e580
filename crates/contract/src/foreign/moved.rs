//! References into schemas that a repair has moved.

use std::collections::{HashMap, HashSet};

use crate::documents::Documents;
use crate::node::{Node, NodeValue};
use crate::uri::{absolute, local_file};

/// The pointers of the schemas whose keywords have moved into the first branch of an `anyOf`, by
/// the index of their document.
pub(super) type Moved = HashMap<usize, HashSet<String>>;

/// A reference that has to follow a schema.
pub(super) struct Follow {
    /// The index of its document.
    pub(super) document: usize,
    /// The indices of the entries and items that lead to the string.
    pub(super) path: Vec<usize>,
    /// The reference to write instead.
    pub(super) text: String,
}

/// Returns the references into schemas that have moved, in all documents.
pub(super) fn follows(documents: &Documents, moved: &Moved) -> Vec<Follow> {
    let mut found = Vec::new();
    if moved.values().all(HashSet::is_empty) {
        return found;
    }
    for (index, document) in documents.list.iter().enumerate() {
        if Some(index) != documents.metaschema {
            let mut search = Search {
                documents,
                moved,
                document: index,
                path: Vec::new(),
                found: &mut found,
            };
            search.node(&document.root);
        }
    }
    found
}

struct Search<'s> {
    documents: &'s Documents,
    moved: &'s Moved,
    document: usize,
    path: Vec<usize>,
    found: &'s mut Vec<Follow>,
}

impl Search<'_> {
    // Recursive, since the readers bound how deep a document is.
    fn node(&mut self, node: &Node) {
        match &node.value {
            NodeValue::Object(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    self.path.push(index);
                    match &entry.value.value {
                        NodeValue::String(text) if entry.key == "$ref" => self.reference(text),
                        _ => self.node(&entry.value),
                    }
                    self.path.pop();
                }
            }
            NodeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.path.push(index);
                    self.node(item);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn reference(&mut self, text: &str) {
        let target = target_document(self.documents, self.document, text);
        let moved = target.and_then(|target| self.moved.get(&target));
        if let Some(text) = moved.and_then(|moved| rebased(text, moved)) {
            self.found.push(Follow {
                document: self.document,
                path: self.path.clone(),
                text,
            });
        }
    }
}

/// Returns the index of the document that a reference leads to.
fn target_document(documents: &Documents, from: usize, reference: &str) -> Option<usize> {
    if reference.starts_with('#') {
        return Some(from);
    }
    let document = &documents.list[from];
    let file = local_file(reference).and_then(|file| document.files.get(&file));
    let found = file.or_else(|| {
        let address = absolute(document.address(), reference)?;
        documents.addresses.get(address.as_str())
    });
    found?.as_ref().ok().copied()
}

/// Returns a reference with `/anyOf/0` behind each pointer in it that is in `moved`, or `None` if
/// there is none.
fn rebased(reference: &str, moved: &HashSet<String>) -> Option<String> {
    let (file, pointer) = reference.split_once('#')?;
    let mut out = format!("{file}#");
    let mut copied = 0;
    // Only what ends before a slash: a reference to the whole schema still leads to it.
    for (at, _) in pointer.match_indices('/') {
        let prefix = percent_encoding::percent_decode_str(&pointer[..at]);
        if moved.contains(&*prefix.decode_utf8().ok()?) {
            out.push_str(&pointer[copied..at]);
            out.push_str("/anyOf/0");
            copied = at;
        }
    }
    (copied > 0).then(|| out + &pointer[copied..])
}
