//! The files of a contract as trees of nodes.

use std::collections::HashMap;
use std::path::PathBuf;

use jsonschema::Uri;

use crate::node::Node;
use crate::pointer;

/// Every file of a contract. The first is the one that the caller asked for.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// The documents that could be read.
    pub(crate) list: Vec<Document>,
    /// The document of each path, or why it is unavailable.
    pub(crate) paths: HashMap<PathBuf, Result<usize, Unavailable>>,
    /// The document of each mapped address on another host, or why it is unavailable.
    pub(crate) addresses: HashMap<String, Result<usize, Unavailable>>,
    /// The index of JSON Schema's metaschema, if a reference leads to it.
    pub(crate) metaschema: Option<usize>,
    /// Whether the document came from memory, so that no other file may be read.
    pub(crate) is_text: bool,
}

impl Documents {
    /// Returns the number of files. The metaschema is not a file.
    pub(crate) fn files(&self) -> usize {
        self.list.len() - usize::from(self.metaschema.is_some())
    }
}

/// The address of JSON Schema's metaschema, the only document that is built in.
pub(crate) const METASCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// One document.
#[derive(Debug)]
pub(crate) struct Document {
    /// The root node.
    pub(crate) root: Node,
    /// The path relative to the first document; empty for the first document itself.
    pub(crate) label: String,
    /// The base of its relative references.
    pub(crate) base: Base,
    /// Whether a schema in it has `$id` or `$anchor`.
    pub(crate) has_resources: bool,
    /// The document of each file that its references name, as written, or why it is unavailable.
    pub(crate) files: HashMap<String, Result<usize, Unavailable>>,
}

impl Document {
    /// Returns the pointer of the root, to which the pointers of its nodes are appended.
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
    /// Returns the address, if the base is one.
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
