//! The state of the walk through a document, which the checks of its objects share.

use std::collections::HashSet;

use super::grammar::Shape;
use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::{Entry, Node};
use crate::node_ref::{NodeRef, address, reference_of};
use crate::resolve::Resolver;
use crate::source::Span;

/// The state of the walk through a document: the nodes to visit, the diagnostics, and the records
/// for later steps.
pub(super) struct Walk<'w, 'a> {
    pub(super) resolver: &'w Resolver<'a>,
    pub(super) dialect: Dialect,
    pub(super) diagnostics: &'w mut Vec<Diagnostic>,
    pub(super) pending: Vec<Item<'a>>,
    /// The nodes that were visited: the address of each, with that of the grammar it was checked
    /// by.
    pub(super) seen: HashSet<(usize, usize)>,
    pub(super) syntax: Syntax<'a>,
    /// The addresses of the schemas of `data` whose `contentSchema` is that of an event's data.
    pub(super) event_data: HashSet<usize>,
    /// What is wrong with the keywords of contents in a schema, by its address, unless it is that of
    /// an event's data.
    pub(super) of_contents: Vec<(usize, Diagnostic)>,
}

/// A node to visit.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) document: usize,
    pub(super) node: &'a Node,
    /// The span to report when a field is missing: that of the key, or of the value if there is no
    /// key.
    pub(super) at: Span,
    /// The key that holds the node. Items of an array have the key of the array.
    pub(super) key: &'a str,
    pub(super) shape: Shape,
}

/// What the check of the syntax records about a contract for later steps.
#[derive(Default)]
pub(crate) struct Syntax<'a> {
    /// The references whose targets are references too, except between schemas.
    pub(super) links: Vec<Link>,
    /// The operation ids that links name, with their spans.
    pub(crate) named: Vec<(&'a str, Span)>,
    /// Every resolved reference if there are several documents, otherwise empty.
    pub(crate) references: Vec<Reference<'a>>,
    /// Addresses of schemas with `$id` or `$anchor`.
    pub(crate) identified: HashSet<usize>,
    /// Whether there is a pattern that no engine supports.
    pub(crate) has_unusable_patterns: bool,
    /// Whether a schema has `$dynamicRef`.
    pub(crate) is_dynamic: bool,
    /// The spans of the texts that are null: of their keys, or of items in a list.
    pub(crate) null_texts: HashSet<Span>,
}

/// A resolved reference.
pub(crate) struct Reference<'a> {
    /// The node of the string that is the reference.
    pub(crate) text: &'a Node,
    /// The target.
    pub(crate) target: NodeRef<'a>,
    /// The section of `components` for the target, or `None` for a path item: 3.0 has no section
    /// for path items.
    pub(crate) section: Option<&'static str>,
}

/// A reference to another reference.
pub(super) struct Link {
    /// The address of the object with `$ref`.
    pub(super) from: usize,
    /// The address of the target.
    pub(super) to: usize,
    /// The span of the reference.
    pub(super) span: Span,
}

impl<'a> Walk<'_, 'a> {
    pub(super) fn error(&mut self, code: &'static str, span: Span, message: String, help: String) {
        self.diagnostics
            .push(Diagnostic::error(code, span, message).help(help));
    }

    pub(super) fn warning(
        &mut self,
        code: &'static str,
        span: Span,
        message: String,
        help: String,
    ) {
        self.diagnostics
            .push(Diagnostic::warning(code, span, message).help(help));
    }

    /// Adds a change of the text to the diagnostic that was reported last: it mends what is wrong.
    pub(super) fn mend(&mut self, span: Span, replacement: &str) {
        if let Some(last) = self.diagnostics.pop() {
            self.diagnostics.push(last.edit(span, replacement));
        }
    }

    /// Queues the value of an entry.
    pub(super) fn push(&mut self, from: Item<'a>, entry: &'a Entry, shape: Shape) {
        self.pending.push(Item {
            document: from.document,
            node: &entry.value,
            at: entry.key_span,
            key: &entry.key,
            shape,
        });
    }

    /// Records a resolved reference, so that several files can be combined. Does nothing if there
    /// is only one document.
    pub(super) fn note(&mut self, text: &'a Node, target: &NodeRef<'a>, shape: Shape) {
        if self.resolver.documents.list.len() > 1 {
            let section = match shape {
                Shape::Object(grammar) => grammar.section(),
                _ => Some("schemas"),
            };
            self.syntax.references.push(Reference {
                text,
                target: target.clone(),
                section,
            });
        }
    }

    /// Queues the target of a reference, or reports a reference to the whole first document.
    pub(super) fn enter(
        &mut self,
        item: Item<'a>,
        entry: &'a Entry,
        target: &NodeRef<'a>,
        shape: Shape,
    ) {
        if target.document == 0 && target.pointer.is_empty() {
            return self.error(
                "dangling-ref",
                entry.value.span,
                "the reference leads to the whole document".to_owned(),
                "write `#/components/…`, or give the schema an `$id`".to_owned(),
            );
        }
        // Cycles of schemas are found in the contract instead: those also run through `allOf` and
        // the like.
        if reference_of(target.node).is_some() && !matches!(shape, Shape::Schema) {
            self.syntax.links.push(Link {
                from: address(item.node),
                to: address(target.node),
                span: entry.value.span,
            });
        }
        self.pending.push(Item {
            document: target.document,
            node: target.node,
            at: target.node.span,
            key: "$ref",
            shape,
        });
    }

    /// Queues a schema that something other than `$ref` leads to.
    pub(super) fn enter_schema(&mut self, target: &NodeRef<'a>) {
        self.pending.push(Item {
            document: target.document,
            node: target.node,
            at: target.node.span,
            key: "$ref",
            shape: Shape::Schema,
        });
    }
}
