//! Checks the syntax of a document: every field known, of the right type and in the right dialect,
//! and every reference resolved.
//!
//! The [`grammar`] says which fields an object of the standard has. This file walks through the
//! document by it, and calls the checks for what the tables cannot express. The walk keeps its own
//! stack and visits each node once per kind of object, so that its cost is bounded by the size of
//! the document, not by the number of paths through its references.

mod addresses;
mod bodies;
mod bounds;
mod composition;
mod cycles;
mod encodings;
mod examples;
mod formats;
mod grammar;
mod idle;
mod kinds;
mod links;
mod metadata;
mod names;
mod objects;
mod parameters;
mod patterns;
mod report;
mod responses;
mod schema;
mod security;
mod since_32;
mod tags;
mod walk;
mod xml;

pub(crate) use formats::is_misspelt_format;
pub(crate) use grammar::{
    CALLBACK_GRAMMAR, CALLBACK_ITEM, COMPONENTS, DOCUMENT, Field, Grammar, Need, SCHEMA, Shape,
};
pub(crate) use patterns::why_unusable;
pub(crate) use report::misspelt;
pub(crate) use schema::format_meant;
pub(crate) use security::is_unregistered;
pub(crate) use walk::{Reference, Syntax};

use std::collections::HashSet;

use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::{Entry, Node, NodeValue};
use crate::node_ref::address;
use crate::resolve::Resolver;
use walk::{Item, Walk};

/// Checks the document and everything that its references lead to. Adds diagnostics, and returns
/// what later steps need to know.
pub(crate) fn check<'a>(
    resolver: &Resolver<'a>,
    dialect: Dialect,
    diagnostics: &mut Vec<Diagnostic>,
) -> Syntax<'a> {
    let root = resolver.root();
    let mut walk = Walk {
        resolver,
        dialect,
        diagnostics,
        pending: Vec::new(),
        seen: HashSet::new(),
        syntax: Syntax::default(),
        event_data: HashSet::new(),
        of_contents: Vec::new(),
    };
    walk.pending.push(Item {
        document: root.document,
        node: root.node,
        at: root.node.span,
        key: "",
        shape: Shape::Object(&DOCUMENT),
    });
    // In any order: diagnostics are sorted by their spans at the end.
    while let Some(item) = walk.pending.pop() {
        walk.visit(item);
    }
    let (syntax, event_data) = (walk.syntax, walk.event_data);
    // Only now, since a component may be visited before the event that refers to it.
    let of_contents = walk.of_contents.into_iter();
    let of_contents = of_contents.filter(|(schema, _)| !event_data.contains(schema));
    diagnostics.extend(of_contents.map(|(_, diagnostic)| diagnostic));
    cycles::check(&syntax.links, diagnostics);
    syntax
}

impl<'a> Walk<'_, 'a> {
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
        // The same node can be visited as different kinds of object, by references of different
        // kinds, and each kind is checked once.
        if !self
            .seen
            .insert((address(item.node), std::ptr::from_ref(grammar).addr()))
        {
            return;
        }
        if grammar.is_referable(self.dialect)
            && let Some(entry) = item.node.entry("$ref")
        {
            self.reference(item, entry, Shape::Object(grammar));
            self.ignored_siblings(entries, grammar);
            return;
        }
        // A callback that is not a reference has expressions as keys, which no table can list.
        if std::ptr::eq(grammar, &raw const CALLBACK_GRAMMAR) {
            return self.map(item, CALLBACK_ITEM, true);
        }
        self.fields(item, entries, grammar);
        objects::check(self, item, grammar);
    }

    fn schema(&mut self, item: Item<'a>) {
        if item.node.as_bool().is_some() {
            // 3.0 has booleans as schemas only there.
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
            self.syntax.identified.insert(address(item.node));
        }
        self.syntax.is_dynamic |= item.node.get("$dynamicRef").is_some();
        if let Some(entry) = item.node.entry("$ref") {
            self.reference(item, entry, Shape::Schema);
            if self.dialect == Dialect::V30 {
                // In 3.0 what is beside `$ref` is ignored, so it is not checked either.
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
                    let is_reference = field.name == "$ref" && grammar.is_referable(self.dialect);
                    if self.is_missing_text(field, &entry.value) {
                        self.syntax.null_texts.insert(entry.key_span);
                    } else if !is_reference {
                        self.push(item, entry, field.shape);
                    }
                }
                Some(field) => self.wrong_dialect(item.node, entry, field),
                None if entry.key.starts_with("x-") => {}
                None if entry.key == "$ref" && grammar.referable.is_some() => {
                    self.reference_too_early(entry, grammar);
                }
                None => self.unknown(entry, grammar),
            }
        }
        for field in grammar.fields {
            let value = item.node.get(field.name);
            if value.is_none_or(|value| self.is_missing_text(field, value)) {
                self.missing(item, field, grammar);
            }
        }
    }

    /// Returns whether a text that the standard requires is null, which says no more than if it was missing.
    fn is_missing_text(&self, field: &Field, value: &Node) -> bool {
        field.need.is_essential(self.dialect).is_some()
            && matches!(field.shape, Shape::Text)
            && matches!(value.value, NodeValue::Null)
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
            Ok(target) if kinds::is_wrong(self, entry.value.span, &target, shape) => {}
            Ok(target) => {
                self.note(&entry.value, &target, shape);
                self.enter(item, entry, &target, shape);
            }
            Err(problem) => self.report_reference(text, entry.value.span, problem),
        }
    }
}
