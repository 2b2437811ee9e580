//! Evaluates JSONPaths over nodes: which nodes a query selects, and where they are.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use jsonpath_rust::parser::model::{Segment, Selector};
use regex::Regex;

use super::bounds::{MOST_SELECTED, MOST_VISITED};
use super::pattern::{Extent, Patterns};
use super::query::Query;
use crate::node::{Node, NodeValue};

/// The indices of the entries and items that lead to a node.
pub(crate) type Location = Vec<u32>;

/// A selected node, with its location.
#[derive(Debug, Clone)]
pub(super) struct Selected<'a> {
    pub(super) node: &'a Node,
    pub(super) location: Location,
}

/// Counts the nodes that the JSONPaths of an overlay visit, of which there may be [`MOST_VISITED`].
#[derive(Debug, Default)]
pub(crate) struct Work {
    visited: Cell<usize>,
}

/// The bound that an evaluation has exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exceeded {
    /// [`MOST_SELECTED`]
    Selected,
    /// [`MOST_VISITED`]
    Visited,
}

impl Work {
    /// Counts visits of nodes.
    pub(super) fn visit(&self, count: usize) -> Result<(), Exceeded> {
        let visited = self.visited.get().saturating_add(count);
        self.visited.set(visited);
        if visited > MOST_VISITED {
            Err(Exceeded::Visited)
        } else {
            Ok(())
        }
    }
}

/// Returns the nodes that a query selects, each once, in the order of the RFC. `patterns` are those
/// of its overlay.
pub(super) fn select<'a>(
    query: &Query,
    patterns: &Patterns,
    root: &'a Node,
    work: &Work,
) -> Result<Vec<Selected<'a>>, Exceeded> {
    let evaluation = Evaluation {
        root,
        patterns,
        work,
        compiled: RefCell::default(),
    };
    let mut found = evaluation.nodes(&query.segments, root)?;
    let mut seen = HashSet::new();
    // A JSONPath can select a node twice, and an action changes each once.
    found.retain(|selected| seen.insert(selected.location.clone()));
    Ok(found)
}

/// The evaluation of a query.
pub(super) struct Evaluation<'q, 'a> {
    pub(super) root: &'a Node,
    /// The patterns of the overlay.
    pub(super) patterns: &'q Patterns,
    pub(super) work: &'q Work,
    /// The patterns that were read from the document; `None` for one that matches nothing.
    pub(super) compiled: RefCell<HashMap<(String, Extent), Option<Regex>>>,
}

impl<'a> Evaluation<'_, 'a> {
    /// Returns the nodes that segments select, from a node on. A node can be selected twice.
    pub(super) fn nodes(
        &self,
        segments: &[Segment],
        start: &'a Node,
    ) -> Result<Vec<Selected<'a>>, Exceeded> {
        let mut current = vec![Selected {
            node: start,
            location: Vec::new(),
        }];
        for segment in segments {
            let mut next = Vec::new();
            for selected in current {
                self.segment(segment, &selected, &mut next)?;
            }
            current = next;
        }
        Ok(current)
    }

    fn segment(
        &self,
        segment: &Segment,
        from: &Selected<'a>,
        out: &mut Vec<Selected<'a>>,
    ) -> Result<(), Exceeded> {
        match segment {
            Segment::Selector(selector) => self.selector(selector, from, out),
            Segment::Selectors(selectors) => selectors
                .iter()
                .try_for_each(|selector| self.selector(selector, from, out)),
            Segment::Descendant(inner) => {
                // Recursive, since the readers bound how deep a document is.
                self.segment(inner, from, out)?;
                children(from.node).try_for_each(|(index, node)| {
                    let from = from.child(index, node);
                    self.segment(segment, &from, out)
                })
            }
        }
    }

    fn selector(
        &self,
        selector: &Selector,
        from: &Selected<'a>,
        out: &mut Vec<Selected<'a>>,
    ) -> Result<(), Exceeded> {
        self.work.visit(1)?;
        let node = from.node;
        match selector {
            Selector::Name(name) => {
                let entries = node.as_object().unwrap_or_default();
                // Finding a key compares it with those before it.
                self.work.visit(entries.len() / 8)?;
                match entries.iter().position(|entry| entry.key == *name) {
                    Some(index) => push(out, from.child(index, &entries[index].value)),
                    None => Ok(()),
                }
            }
            Selector::Wildcard => children(node).try_for_each(|(index, child)| {
                self.work.visit(1)?;
                push(out, from.child(index, child))
            }),
            Selector::Index(index) => {
                let items = node.as_array().unwrap_or_default();
                match position(*index, items.len()) {
                    Some(index) => push(out, from.child(index, &items[index])),
                    None => Ok(()),
                }
            }
            Selector::Slice(start, end, step) => {
                let items = node.as_array().unwrap_or_default();
                for index in slice(*start, *end, *step, items.len()) {
                    self.work.visit(1)?;
                    push(out, from.child(index, &items[index]))?;
                }
                Ok(())
            }
            Selector::Filter(filter) => children(node).try_for_each(|(index, child)| {
                self.work.visit(1)?;
                if self.holds(filter, child)? {
                    push(out, from.child(index, child))?;
                }
                Ok(())
            }),
        }
    }
}

impl<'a> Selected<'a> {
    fn child(&self, index: usize, node: &'a Node) -> Self {
        let mut location = Vec::with_capacity(self.location.len() + 1);
        location.extend_from_slice(&self.location);
        // Files of at most 64 MiB hold fewer nodes, and overlays add a bounded number.
        location.push(u32::try_from(index).unwrap_or(u32::MAX));
        Self { node, location }
    }
}

fn push<'a>(out: &mut Vec<Selected<'a>>, selected: Selected<'a>) -> Result<(), Exceeded> {
    if out.len() >= MOST_SELECTED {
        return Err(Exceeded::Selected);
    }
    out.push(selected);
    Ok(())
}

/// Returns the values of an object, or the items of an array, with their indices.
pub(super) fn children(node: &Node) -> impl Iterator<Item = (usize, &Node)> {
    let (entries, items) = match &node.value {
        NodeValue::Object(entries) => (entries.as_slice(), [].as_slice()),
        NodeValue::Array(items) => ([].as_slice(), items.as_slice()),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => {
            ([].as_slice(), [].as_slice())
        }
    };
    let values = entries.iter().map(|entry| &entry.value);
    values.chain(items).enumerate()
}

/// Returns the position that an index means, which counts from the end if it is negative.
pub(super) fn position(index: i64, length: usize) -> Option<usize> {
    let position = if index < 0 {
        length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
    } else {
        usize::try_from(index).ok()?
    };
    (position < length).then_some(position)
}

/// Returns the positions that a slice selects (RFC 9535, section 2.3.4.2).
fn slice(
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
    length: usize,
) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let step = step.unwrap_or(1);
    let from_end = |index: i64| if index < 0 { length + index } else { index };
    let (first, last) = if step >= 0 {
        let first = from_end(start.unwrap_or(0)).clamp(0, length);
        let last = from_end(end.unwrap_or(length)).clamp(0, length);
        (first, last)
    } else {
        let first = start.map_or(length - 1, from_end).clamp(-1, length - 1);
        let last = end.map_or(-1, from_end).clamp(-1, length - 1);
        (first, last)
    };
    let is_before = move |at: &i64| match step {
        // By the RFC, such a slice selects nothing.
        0 => false,
        1.. => *at < last,
        _ => *at > last,
    };
    std::iter::successors(Some(first).filter(is_before), move |at| {
        at.checked_add(step).filter(is_before)
    })
    .filter_map(|at| usize::try_from(at).ok())
}

/// Returns the indices of a location.
pub(super) fn indices(location: &[u32]) -> impl Iterator<Item = usize> {
    location.iter().map(|index| *index as usize)
}

/// Returns the normalized path of a node (RFC 9535, section 2.7).
pub(super) fn normalized(root: &Node, location: &[u32]) -> String {
    let mut out = String::from("$");
    let mut at = root;
    for index in location {
        let index = *index as usize;
        at = match &at.value {
            NodeValue::Object(entries) => {
                let Some(entry) = entries.get(index) else {
                    break;
                };
                push_name(&mut out, &entry.key);
                &entry.value
            }
            NodeValue::Array(items) => {
                let Some(item) = items.get(index) else { break };
                out.push_str(&format!("[{index}]"));
                item
            }
            _ => break,
        };
    }
    out
}

/// Appends a key to a normalized path.
pub(super) fn push_name(out: &mut String, key: &str) {
    out.push_str("['");
    for character in key.chars() {
        match character {
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            low if low < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(low))),
            other => out.push(other),
        }
    }
    out.push_str("']");
}
