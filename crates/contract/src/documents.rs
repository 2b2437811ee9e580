//! The files of a contract as trees of nodes.

use std::collections::HashMap;
use std::path::PathBuf;

use jsonschema::Uri;

use crate::node::Node;
use crate::pointer;

/// The documents of a contract, and the paths and addresses that they were read from.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// The documents that could be read. The first is the one that the caller asked for.
    pub(crate) list: Vec<Document>,
    /// The index in `list` of the document at each canonical path, or why the document is
    /// unavailable.
    pub(crate) paths: HashMap<PathBuf, Result<usize, Unavailable>>,
    /// The index in `list` of the local copy for each address on another host, or why the copy is
    /// unavailable.
    pub(crate) addresses: HashMap<String, Result<usize, Unavailable>>,
    /// The index in `list` of JSON Schema's metaschema, if a reference leads to it.
    pub(crate) metaschema: Option<usize>,
    /// Whether the document came from memory, so that no other file may be read.
    pub(crate) is_text: bool,
}

impl Documents {
    /// Returns the number of documents without the metaschema, which is built in.
    pub(crate) fn files(&self) -> usize {
        self.list.len() - usize::from(self.metaschema.is_some())
    }
}

/// The address of JSON Schema's metaschema, the only document that is built in.
pub(crate) const METASCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// A document of a contract.
#[derive(Debug)]
pub(crate) struct Document {
    /// The root node.
    pub(crate) root: Node,
    /// The path relative to the folder of the first document. Empty for the first document itself,
    /// and the address for the metaschema.
    pub(crate) label: String,
    /// The base of its relative references to files.
    pub(crate) base: Base,
    /// The address that the document gives itself (`$self`, 3.2), if it is absolute.
    pub(crate) own_address: Option<Uri<String>>,
    /// Whether an object in the document has `$id`, `$anchor` or `$dynamicAnchor`.
    pub(crate) has_resources: bool,
    /// The index of the document for each file path in its references, percent-decoded, or why the
    /// document is unavailable.
    pub(crate) files: HashMap<String, Result<usize, Unavailable>>,
}

impl Document {
    /// Returns the address against which relative references are resolved, if there is one: that
    /// which the document gives itself, or that which it is a copy of.
    pub(crate) fn address(&self) -> Option<&Uri<String>> {
        self.own_address.as_ref().or_else(|| self.base.address())
    }

    /// Returns the pointer of the root node: empty for the first document, otherwise `/$files/` and
    /// the label. The pointers of the other nodes are appended to it.
    pub(crate) fn pointer(&self) -> String {
        match self.label.as_str() {
            "" => String::new(),
            label => pointer::join("/$files", label),
        }
    }
}

/// The base of the relative references of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Base {
    /// The folder that contains the document.
    Folder(PathBuf),
    /// The document's address on another host; the document is a local copy.
    Address(Uri<String>),
}

impl Base {
    /// Returns the document's address on another host, if it has one.
    pub(crate) fn address(&self) -> Option<&Uri<String>> {
        match self {
            Self::Address(address) => Some(address),
            Self::Folder(_) => None,
        }
    }
}

/// The reason why a document that a reference names is unavailable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// The document was not read, for this reason.
    Unreadable(String),
    /// The document is not JSON or YAML, which has been reported.
    Broken,
}
