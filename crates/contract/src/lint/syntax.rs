//! Walks the whole document by the tables of [`grammar`](super::grammar): every field known, of the right kind, in the
//! right dialect; every reference leading somewhere.

mod refusal;

use std::collections::HashSet;

use super::grammar::{CALLBACK_GRAMMAR, CALLBACK_ITEM, DOCUMENT, Grammar, Need, SCHEMA, Shape};
use super::{objects, schema};
use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::{Entry, Node};
use crate::node_ref::{Place, address, reference_of};
use crate::resolve::Resolver;
use crate::source::Span;

/// Checks everything that can be reached.
pub(super) fn check<'a>(
    resolver: &Resolver<'a>,
    dialect: Dialect,
    diagnostics: &mut Vec<Diagnostic>,
) -> Findings<'a> {
    let root = resolver.root();
    let mut walk = Walk {
        resolver,
        dialect,
        diagnostics,
        pending: Vec::new(),
        seen: HashSet::new(),
        findings: Findings::default(),
    };
    walk.pending.push(Item {
        document: root.document,
        node: root.node,
        at: root.node.span,
        key: "",
        shape: Shape::Object(&DOCUMENT),
    });
    while let Some(item) = walk.pending.pop() {
        walk.visit(item);
    }
    walk.findings
}

/// What other lints need to know of the walk.
#[derive(Default)]
pub(crate) struct Findings<'a> {
    /// References between references, but for schemas.
    pub(super) links: Vec<Link>,
    /// Operation ids that links name, and where.
    pub(super) named: Vec<(&'a str, Span)>,
    /// Every reference, where there are several files.
    pub(crate) references: Vec<Reference<'a>>,
    /// Addresses of schemas that say `$id` or `$anchor`.
    pub(crate) identified: HashSet<usize>,
    /// Whether some schema says `$dynamicRef`.
    pub(crate) is_dynamic: bool,
}

/// A reference that leads somewhere.
pub(crate) struct Reference<'a> {
    /// The node of its text.
    pub(crate) text: &'a Node,
    /// What it means.
    pub(crate) target: Place<'a>,
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

/// Something to look at.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) document: usize,
    pub(super) node: &'a Node,
    /// Where to point when something is missing in it: the key, or the value where there is none.
    pub(super) at: Span,
    /// The key that leads here; items of a list have the list's.
    pub(super) key: &'a str,
    shape: Shape,
}

pub(super) struct Walk<'w, 'a> {
    pub(super) resolver: &'w Resolver<'a>,
    pub(super) dialect: Dialect,
    pub(super) diagnostics: &'w mut Vec<Diagnostic>,
    pending: Vec<Item<'a>>,
    seen: HashSet<(usize, usize)>,
    pub(super) findings: Findings<'a>,
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

    fn visit(&mut self, item: Item<'a>) {
        let node = item.node;
        match item.shape {
            Shape::Any => {}
            Shape::Text => self.expect(item, node.as_str().is_some(), "a string"),
            Shape::Flag => self.expect(item, node.as_bool().is_some(), "true or false"),
            Shape::Number => self.expect(item, node.as_number().is_some(), "a number"),
            Shape::Count => self.expect(item, node.as_count().is_some(), "an integer from 0"),
            Shape::Type => schema::check_type(self, item),
            Shape::Exclusive => self.exclusive(item),
            Shape::Values => self.expect(item, node.as_array().is_some(), "an array"),
            Shape::List(inner) => self.list(item, *inner),
            Shape::Map(inner) => self.map(item, *inner, false),
            Shape::ExtensibleMap(inner) => self.map(item, *inner, true),
            Shape::Object(grammar) => self.object(item, grammar),
            Shape::Schema => self.schema(item),
        }
    }

    fn push(&mut self, from: Item<'a>, entry: &'a Entry, shape: Shape) {
        self.pending.push(Item {
            document: from.document,
            node: &entry.value,
            at: entry.key_span,
            key: &entry.key,
            shape,
        });
    }

    fn list(&mut self, item: Item<'a>, inner: Shape) {
        let Some(items) = item.node.as_array() else {
            return self.expect(item, false, "an array");
        };
        for node in items {
            self.pending.push(Item {
                node,
                at: node.span,
                shape: inner,
                ..item
            });
        }
    }

    fn map(&mut self, item: Item<'a>, inner: Shape, extensible: bool) {
        let Some(entries) = item.node.as_object() else {
            return self.expect(item, false, "an object");
        };
        for entry in entries {
            if !(extensible && entry.key.starts_with("x-")) {
                self.push(item, entry, inner);
            }
        }
    }

    fn object(&mut self, item: Item<'a>, grammar: &'static Grammar) {
        let Some(entries) = item.node.as_object() else {
            return self.expect(item, false, "an object");
        };
        if !self
            .seen
            .insert((address(item.node), std::ptr::from_ref(grammar).addr()))
        {
            return;
        }
        if grammar.referable
            && let Some(entry) = item.node.entry("$ref")
        {
            self.reference(item, entry, Shape::Object(grammar));
            self.ignored_siblings(entries, grammar);
            return;
        }
        if std::ptr::eq(grammar, &raw const CALLBACK_GRAMMAR) {
            return self.map(item, CALLBACK_ITEM, true);
        }
        self.fields(item, entries, grammar);
        objects::check(self, item, grammar);
    }

    fn schema(&mut self, item: Item<'a>) {
        if item.node.as_bool().is_some() {
            if self.dialect == Dialect::V30 && item.key != "additionalProperties" {
                self.error(
                    "wrong-dialect",
                    item.node.span,
                    "a schema that is `true` or `false` belongs to OpenAPI 3.1".to_owned(),
                    "write `{}` for anything and `{ not: {} }` for nothing".to_owned(),
                );
            }
            return;
        }
        let Some(entries) = item.node.as_object() else {
            return self.expect(item, false, "a schema");
        };
        let identity = (address(item.node), std::ptr::from_ref(&SCHEMA).addr());
        if !self.seen.insert(identity) {
            return;
        }
        if ["$id", "$anchor"]
            .iter()
            .any(|key| item.node.get(key).is_some())
        {
            self.findings.identified.insert(address(item.node));
        }
        self.findings.is_dynamic |= item.node.get("$dynamicRef").is_some();
        if let Some(entry) = item.node.entry("$ref") {
            self.reference(item, entry, Shape::Schema);
            if self.dialect == Dialect::V30 {
                self.ignored_siblings(entries, &SCHEMA);
                return;
            }
        }
        self.fields(item, entries, &SCHEMA);
        schema::check(self, item);
    }

    fn fields(&mut self, item: Item<'a>, entries: &'a [Entry], grammar: &'static Grammar) {
        for entry in entries {
            match grammar.field(&entry.key) {
                Some(field) if field.is_in(self.dialect) => {
                    if !(field.name == "$ref" && grammar.referable) {
                        self.push(item, entry, field.shape);
                    }
                }
                Some(field) => self.wrong_dialect(entry, field),
                None if entry.key.starts_with("x-") => {}
                None => self.unknown(entry, grammar),
            }
        }
        for field in grammar.fields {
            if field.need != Need::Optional && item.node.get(field.name).is_none() {
                self.missing(item, field, grammar);
            }
        }
    }

    fn reference(&mut self, item: Item<'a>, entry: &'a Entry, shape: Shape) {
        let Some(text) = entry.value.as_str() else {
            return self.error(
                "wrong-type",
                entry.value.span,
                format!("`$ref` must be a string, not {}", entry.value.kind()),
                "write `#/components/…`".to_owned(),
            );
        };
        match self.resolver.resolve(item.document, item.node, text) {
            Ok(target) => {
                self.note(&entry.value, &target, shape);
                self.enter(item, entry, &target, shape);
            }
            Err(problem) => self.refuse_reference(text, entry.value.span, problem),
        }
    }

    /// Keeps a reference for whoever makes one document of several files.
    pub(super) fn note(&mut self, text: &'a Node, target: &Place<'a>, shape: Shape) {
        if self.resolver.documents.list.len() > 1 {
            let section = match shape {
                Shape::Object(grammar) => grammar.section(),
                _ => Some("schemas"),
            };
            self.findings.references.push(Reference {
                text,
                target: target.clone(),
                section,
            });
        }
    }

    fn enter(&mut self, item: Item<'a>, entry: &'a Entry, target: &Place<'a>, shape: Shape) {
        if target.document == 0 && target.pointer.is_empty() {
            return self.error(
                "dangling-ref",
                entry.value.span,
                "the reference means the whole document".to_owned(),
                "write `#/components/…`, or give the schema an `$id`".to_owned(),
            );
        }
        if reference_of(target.node).is_some() && !matches!(shape, Shape::Schema) {
            self.findings.links.push(Link {
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
    pub(super) fn enter_schema(&mut self, target: &Place<'a>) {
        self.pending.push(Item {
            document: target.document,
            node: target.node,
            at: target.node.span,
            key: "$ref",
            shape: Shape::Schema,
        });
    }
}
