//! The files of a contract as trees, before anything is made of them.

use std::collections::HashMap;
use std::path::PathBuf;

use jsonschema::Uri;

use crate::node::Node;
use crate::pointer;

/// Every file of a contract; the first is the one that was asked for.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// The files that could be read.
    pub(crate) list: Vec<Document>,
    /// What became of each path.
    pub(crate) paths: HashMap<PathBuf, Result<usize, Unavailable>>,
    /// What became of each address of another host that is kept locally.
    pub(crate) addresses: HashMap<String, Result<usize, Unavailable>>,
    /// JSON Schema's own schema, if something refers to it.
    pub(crate) metaschema: Option<usize>,
    /// Whether the document came from memory, so that no other file may be read.
    pub(crate) is_text: bool,
}

impl Documents {
    /// How many files there are; JSON Schema's own schema is none.
    pub(crate) fn files(&self) -> usize {
        self.list.len() - usize::from(self.metaschema.is_some())
    }
}

/// The address of JSON Schema's own schema, the only one that is known without asking its host.
pub(crate) const METASCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// One file.
#[derive(Debug)]
pub(crate) struct Document {
    /// The tree.
    pub(crate) root: Node,
    /// Its path as seen from the first document, which has none.
    pub(crate) label: String,
    /// What its references start from.
    pub(crate) base: Base,
    /// Whether some schema in it says `$id` or `$anchor`.
    pub(crate) has_resources: bool,
    /// The files that its references name, as written.
    pub(crate) files: HashMap<String, Result<usize, Unavailable>>,
}

impl Document {
    /// The pointer of its root, from which those of its parts go on.
    pub(crate) fn pointer(&self) -> String {
        match self.label.as_str() {
            "" => String::new(),
            label => pointer::join("/$files", label),
        }
    }
}

/// What relative references of a document start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Base {
    /// The folder that it lies in.
    Folder(PathBuf),
    /// Its address on another host, of which it is a local copy.
    Address(Uri<String>),
}

impl Base {
    /// The address, if it is one.
    pub(crate) fn address(&self) -> Option<&Uri<String>> {
        match self {
            Self::Address(address) => Some(address),
            Self::Folder(_) => None,
        }
    }
}

/// Why a file that a reference names is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// It was not read, for this reason.
    Unreadable(String),
    /// It was read and is not JSON or YAML; the reader has said so.
    Broken,
}
