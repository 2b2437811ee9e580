//! The state of the walk through a document, and what the checks of its objects share.

use std::collections::HashSet;

use super::grammar::Shape;
use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::{Entry, Node};
use crate::node_ref::{NodeRef, address, reference_of};
use crate::resolve::Resolver;
use crate::source::Span;

pub(super) struct Walk<'w, 'a> {
    pub(super) resolver: &'w Resolver<'a>,
    pub(super) dialect: Dialect,
    pub(super) diagnostics: &'w mut Vec<Diagnostic>,
    pub(super) pending: Vec<Item<'a>>,
    pub(super) seen: HashSet<(usize, usize)>,
    pub(super) syntax: Syntax<'a>,
}

/// Something to look at.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) document: usize,
    pub(super) node: &'a Node,
    /// Where to point when something is missing in it: the key, or the value where there is none.
    pub(super) at: Span,
    /// The key that leads here; items of a list have the list's.
    pub(super) key: &'a str,
    pub(super) shape: Shape,
}

/// What other lints need to know of the walk.
#[derive(Default)]
pub(crate) struct Syntax<'a> {
    /// References between references, but for schemas.
    pub(super) links: Vec<Link>,
    /// Operation ids that links name, and where.
    pub(crate) named: Vec<(&'a str, Span)>,
    /// Every reference, where there are several files.
    pub(crate) references: Vec<Reference<'a>>,
    /// Addresses of schemas that say `$id` or `$anchor`.
    pub(crate) identified: HashSet<usize>,
    /// Whether some pattern is none that an engine can run.
    pub(crate) has_unusable_patterns: bool,
    /// Whether some schema says `$dynamicRef`.
    pub(crate) is_dynamic: bool,
}

/// A reference that leads somewhere.
pub(crate) struct Reference<'a> {
    /// The node of its text.
    pub(crate) text: &'a Node,
    /// What it means.
    pub(crate) target: NodeRef<'a>,
    /// The section of `components` for such things; none for path items, which have none in both dialects.
    pub(crate) section: Option<&'static str>,
}

/// A reference that leads to another reference.
pub(super) struct Link {
    /// Address of the object that says `$ref`.
    pub(super) from: usize,
    /// Address of the object that it means.
    pub(super) to: usize,
    /// Where the reference stands.
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

    pub(super) fn push(&mut self, from: Item<'a>, entry: &'a Entry, shape: Shape) {
        self.pending.push(Item {
            document: from.document,
            node: &entry.value,
            at: entry.key_span,
            key: &entry.key,
            shape,
        });
    }

    /// Keeps a reference for whoever makes one document of several files.
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
                "the reference means the whole document".to_owned(),
                "write `#/components/…`, or give the schema an `$id`".to_owned(),
            );
        }
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

    /// Looks at a schema that something other than `$ref` leads to.
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
