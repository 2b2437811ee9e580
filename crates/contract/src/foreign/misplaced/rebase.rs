//! References of a node that moves into another document.

use std::collections::HashMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::documents::{Documents, Unavailable};
use crate::node::{Node, NodeValue};
use crate::uri::local_file;

/// The characters of a path that a reference to its file must escape.
const PATH: &AsciiSet = &CONTROLS.add(b'%').add(b'#').add(b'?');

/// Rewrites the references of a node that moves from a document into another one.
pub(super) struct Rebase<'d> {
    documents: &'d Documents,
    /// The index of the document that the node comes from.
    document: usize,
    /// The document of each file that the rewritten references name.
    pub(super) files: HashMap<String, Result<usize, Unavailable>>,
}

impl<'d> Rebase<'d> {
    /// Returns a rewriting of nodes that come from the document with this index.
    pub(super) fn new(documents: &'d Documents, document: usize) -> Self {
        Self {
            documents,
            document,
            files: HashMap::new(),
        }
    }

    /// Rewrites the references of a node and everything below it.
    // Recursive, since the readers bound how deep a document is.
    pub(super) fn node(&mut self, node: &mut Node) {
        match &mut node.value {
            NodeValue::Object(entries) => {
                for entry in entries {
                    match &mut entry.value.value {
                        NodeValue::String(text) if entry.key == "$ref" => self.reference(text),
                        NodeValue::Object(_) if entry.key == "discriminator" => {
                            self.discriminator(&mut entry.value);
                        }
                        _ => self.node(&mut entry.value),
                    }
                }
            }
            NodeValue::Array(items) => {
                for item in items {
                    self.node(item);
                }
            }
            _ => {}
        }
    }

    /// Rewrites the references in the mapping of a discriminator, which are strings with `/` or
    /// `#`, and those below a property that has the name `discriminator`.
    fn discriminator(&mut self, node: &mut Node) {
        if node.get("propertyName").and_then(Node::as_str).is_none() {
            return self.node(node);
        }
        let NodeValue::Object(entries) = &mut node.value else {
            return;
        };
        for entry in entries {
            match (&mut entry.value.value, entry.key.as_str()) {
                (NodeValue::Object(mapping), "mapping") => {
                    for entry in mapping {
                        self.mapped(&mut entry.value.value);
                    }
                }
                (value, "defaultMapping") => self.mapped(value),
                _ => {}
            }
        }
    }

    fn mapped(&mut self, value: &mut NodeValue) {
        match value {
            NodeValue::String(text) if text.contains(['/', '#']) => self.reference(text),
            _ => {}
        }
    }

    fn reference(&mut self, reference: &mut String) {
        let from = &self.documents.list[self.document];
        let (file, fragment) = reference
            .split_once('#')
            .unwrap_or((reference.as_str(), ""));
        let (path, found) = if file.is_empty() {
            (from.label.clone(), Ok(self.document))
        } else {
            let known = local_file(file).and_then(|file| Some((from.files.get(&file)?, file)));
            let Some((found, file)) = known else {
                return;
            };
            let folder = from.label.rsplit_once('/').map_or("", |(folder, _)| folder);
            (format!("{folder}/{file}"), found.clone())
        };
        // A name that no reference in the other document has: it is looked up, not opened.
        let path = format!("/./{path}");
        *reference = format!("{}#{fragment}", utf8_percent_encode(&path, PATH));
        self.files.insert(path, found);
    }
}
