//! JSONPaths for uses other than overlays: they select nodes of a document.

use super::pattern::Patterns;
use super::query::Query;
use super::select::{Work, select};
use crate::node::{Entry, Node, NodeValue};

/// A JSONPath (RFC 9535) that selects nodes of a document, within the bounds of overlays.
#[derive(Debug)]
pub struct Selector {
    query: Query,
    patterns: Patterns,
}

/// A node that a [`Selector`] selects.
#[derive(Debug, Clone, Copy)]
pub struct Match<'a> {
    /// The node.
    pub node: &'a Node,
    /// The entry of an object that holds the node, or `None` for an item and for the root.
    pub entry: Option<&'a Entry>,
}

/// The reason why a text is no JSONPath.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct NotSelector {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The way to correct it.
    pub help: String,
}

/// The error that a JSONPath selects or visits more nodes than [`MOST_SELECTED`](super::MOST_SELECTED)
/// or [`MOST_VISITED`](super::MOST_VISITED).
#[derive(Debug, thiserror::Error)]
#[error("the JSONPath selects or visits too many nodes")]
pub struct NotSelected;

impl Selector {
    /// Parses a JSONPath.
    ///
    /// # Errors
    ///
    /// Returns why the text is no JSONPath, or why it would match nothing.
    pub fn parse(text: &str) -> Result<Self, NotSelector> {
        let mut patterns = Patterns::default();
        let query = Query::parse(text, &mut patterns).map_err(|wrong| NotSelector {
            message: wrong.message,
            help: wrong.help,
        })?;
        match query.bad_patterns.first() {
            None => Ok(Self { query, patterns }),
            Some(pattern) => Err(NotSelector {
                message: format!(
                    "`{pattern}` is not a pattern of RFC 9485, or a too large one, so it matches nothing"
                ),
                help: "write a simpler pattern".to_owned(),
            }),
        }
    }

    /// Returns the nodes of a document that the JSONPath selects, each once.
    ///
    /// # Errors
    ///
    /// Returns an error if there are too many.
    pub fn select<'a>(&self, root: &'a Node) -> Result<Vec<Match<'a>>, NotSelected> {
        let found = select(&self.query, &self.patterns, root, &Work::default());
        let found = found.map_err(|_| NotSelected)?;
        let found = found.into_iter().map(|selected| Match {
            node: selected.node,
            entry: entry(root, &selected.location),
        });
        Ok(found.collect())
    }
}

/// Returns the entry at a location, unless an item or the root is there.
fn entry<'a>(root: &'a Node, location: &[u32]) -> Option<&'a Entry> {
    let (last, holders) = location.split_last()?;
    let holder = root.at(holders.iter().map(|index| *index as usize))?;
    match &holder.value {
        NodeValue::Object(entries) => entries.get(*last as usize),
        NodeValue::Null
        | NodeValue::Bool(_)
        | NodeValue::Number(_)
        | NodeValue::String(_)
        | NodeValue::Array(_) => None,
    }
}
