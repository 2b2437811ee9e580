//! A file as text and as a tree of nodes. While the text is no JSON or YAML, as it often is between
//! two keystrokes, the tree is that of the last text that was.

use std::ops::Range;
use std::sync::Arc;

use contract::node::{Node, NodeValue};
use contract::pointer;
use contract::source::{Sources, Span};
use contract::{Severity, read};

use crate::position::{Encoding, Lines};

/// A file at one moment.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) text: Arc<str>,
    pub(crate) lines: Lines,
    /// The tree of this text, or else of the last text that could be read.
    pub(crate) tree: Option<Arc<Tree>>,
    /// Whether the tree is that of this text, and the text has no error of syntax.
    pub(crate) is_whole: bool,
    shift: Shift,
}

/// The nodes of a text.
#[derive(Debug)]
pub(crate) struct Tree {
    text: Arc<str>,
    pub(crate) root: Node,
}

impl Parsed {
    /// Reads a text. `before` is the same file at an earlier moment.
    pub(crate) fn new(name: &str, text: Arc<str>, before: Option<&Self>) -> Self {
        let mut diagnostics = Vec::new();
        let root = read::read(
            &mut Sources::default(),
            name,
            text.as_bytes(),
            &mut diagnostics,
        );
        let has_errors = diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error);
        let is_whole = root.is_some() && !has_errors;
        let tree = match root {
            Some(root) => Some(Arc::new(Tree {
                text: Arc::clone(&text),
                root,
            })),
            None => before.and_then(|before| before.tree.clone()),
        };
        let shift = match &tree {
            Some(tree) => Shift::between(&tree.text, &text),
            None => Shift::default(),
        };
        Self {
            lines: Lines::of(&text),
            text,
            tree,
            is_whole,
            shift,
        }
    }

    pub(crate) fn root(&self) -> Option<&Node> {
        self.tree.as_ref().map(|tree| &tree.root)
    }

    /// Returns the offsets of a span of the tree in the text, unless an edit since then has changed
    /// it.
    pub(crate) fn offsets(&self, span: Span) -> Option<Range<usize>> {
        self.shift.forward(span.start as usize..span.end as usize)
    }

    /// Returns the offset in the tree's text of an offset in the text, unless an edit has changed
    /// what is there.
    pub(crate) fn in_tree(&self, offset: usize) -> Option<u32> {
        u32::try_from(self.shift.back(offset)?).ok()
    }

    /// Returns the position of a span of the tree.
    pub(crate) fn range(&self, encoding: Encoding, span: Span) -> Option<gen_lsp_types::Range> {
        let offsets = self.offsets(span)?;
        Some(self.lines.range(&self.text, encoding, offsets))
    }

    /// Returns the text of a span of the tree.
    pub(crate) fn source(&self, span: Span) -> Option<&str> {
        self.text.get(self.offsets(span)?)
    }
}

/// What lies between two texts: equal starts, equal ends, and between them what an edit changed.
///
/// A file that starts with a byte order mark has nodes with offsets after the mark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shift {
    /// The length of the equal start.
    same: usize,
    /// Where the equal ends begin in the old text and in the new one.
    old: usize,
    new: usize,
    mark: usize,
}

impl Shift {
    pub(crate) fn between(old: &str, new: &str) -> Self {
        let mark = if old.starts_with('\u{feff}') { 3 } else { 0 };
        if old == new {
            return Self {
                same: old.len(),
                old: old.len(),
                new: new.len(),
                mark,
            };
        }
        let (before, after) = (old.as_bytes(), new.as_bytes());
        // By bytes, which may split a character. No node begins or ends within one, so none is cut.
        let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        // Without this, the equal start and the equal ends of `aa` and `aaa` would overlap.
        let most = before.len().min(after.len()) - same;
        let ends = before.iter().rev().zip(after.iter().rev()).take(most);
        let ends = ends.take_while(|(a, b)| a == b).count();
        Self {
            same,
            old: before.len() - ends,
            new: after.len() - ends,
            mark,
        }
    }

    /// Returns the offsets in the new text of a part of the old one, or `None` if the part was
    /// changed.
    pub(crate) fn forward(&self, old: Range<usize>) -> Option<Range<usize>> {
        let (start, end) = (old.start + self.mark, old.end + self.mark);
        if end <= self.same {
            return Some(start..end);
        }
        (start >= self.old).then(|| start - self.old + self.new..end - self.old + self.new)
    }

    fn back(&self, new: usize) -> Option<usize> {
        let old = if new <= self.same {
            new
        } else {
            new.checked_sub(self.new)? + self.old
        };
        old.checked_sub(self.mark)
    }
}

/// The node to which a pointer leads.
pub(crate) struct Found<'n> {
    pub(crate) node: &'n Node,
    /// The span of its key, if it has one.
    pub(crate) key: Option<Span>,
}

/// Returns the node to which a pointer leads.
pub(crate) fn at<'n>(root: &'n Node, pointer: &str) -> Option<Found<'n>> {
    let mut found = Found {
        node: root,
        key: None,
    };
    for token in pointer::tokens(pointer) {
        found = match &found.node.value {
            NodeValue::Object(_) => {
                let entry = found.node.entry(&token)?;
                Found {
                    node: &entry.value,
                    key: Some(entry.key_span),
                }
            }
            NodeValue::Array(items) => Found {
                node: items.get(token.parse::<usize>().ok()?)?,
                key: None,
            },
            _ => return None,
        };
    }
    Some(found)
}

/// Where an offset is in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The pointer of the innermost node.
    pub(crate) pointer: String,
    /// Whether the offset is on the key of that node.
    pub(crate) is_key: bool,
}

/// Returns where an offset is.
pub(crate) fn cursor(root: &Node, offset: u32) -> Cursor {
    // With its end: a cursor stands between characters, and often right after a word.
    let holds = |span: Span| (span.start..=span.end).contains(&offset);
    let mut at = Cursor {
        pointer: String::new(),
        is_key: false,
    };
    let mut node = root;
    loop {
        let next = match &node.value {
            NodeValue::Object(entries) => entries.iter().find_map(|entry| {
                if holds(entry.key_span) {
                    return Some((entry.key.clone(), &entry.value, true));
                }
                holds(entry.value.span).then(|| (entry.key.clone(), &entry.value, false))
            }),
            NodeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                holds(item.span).then(|| (index.to_string(), item, false))
            }),
            _ => None,
        };
        let Some((token, value, is_key)) = next else {
            return at;
        };
        pointer::push(&mut at.pointer, &token);
        if is_key {
            at.is_key = true;
            return at;
        }
        node = value;
    }
}
