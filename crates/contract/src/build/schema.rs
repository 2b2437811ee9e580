//! Assigns an id to every schema, and reads its keywords in the terms of JSON Schema 2020-12.
//!
//! 3.0's `nullable: true` is read as authors mean it: null is accepted unless an `enum` leaves it
//! out. Beside `type`, null becomes one more type. Beside `allOf` and the other combinators, which
//! would reject null, the schema becomes `anyOf` of itself and null.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use indexmap::IndexMap;

use crate::model::{Dialect, Discriminator, Keywords, Schema, SchemaId, SchemaKind, Types};
use crate::node::{Entry, Node, NodeValue};
use crate::node_ref::{NodeRef, address};

use super::builder::Builder;
use super::fields::{flag, text};
use super::keywords::{annotate, is_annotation, list, raw};
use super::origins::{Role, ValueSite};

/// The keywords whose schemas could still reject null if `type` listed it as well.
const COMBINATORS: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];

impl<'a> Builder<'_, 'a> {
    /// Returns the id of a schema. A schema without an id gets one, and is queued for its keywords
    /// to be read.
    pub(super) fn schema(&mut self, at: &NodeRef<'a>) -> SchemaId {
        if let Some(id) = self.ids.get(&address(at.node)) {
            return *id;
        }
        // The id exists before the keywords are read, so that a schema can refer to itself.
        let id = self.add(at, SchemaKind::Bool(true));
        self.ids.insert(address(at.node), id);
        self.pending.push_back((id, at.clone()));
        id
    }

    /// Returns the id of a schema that accepts anything, for a parameter or media type that
    /// declares no schema.
    pub(super) fn anything(&mut self, owner: &NodeRef<'a>) -> SchemaId {
        let key = address(owner.node);
        if let Some(id) = self.untyped.get(&key) {
            return *id;
        }
        let id = self.add(&owner.child("schema", owner.node), SchemaKind::Bool(true));
        self.untyped.insert(key, id);
        id
    }

    fn add(&mut self, at: &NodeRef<'a>, kind: SchemaKind) -> SchemaId {
        let id = SchemaId(u32::try_from(self.schemas.len()).expect("positions are 32 bits wide"));
        self.origins.nodes.push(at.node);
        self.spend(at.pointer.len());
        self.schemas.push(Schema {
            component: None,
            pointer: at.pointer.to_string(),
            span: at.node.span,
            kind,
        });
        id
    }

    /// Reads the keywords of every queued schema, including those that are queued meanwhile, until
    /// the limit of copied bytes is reached.
    pub(super) fn drain(&mut self) {
        while let Some((id, at)) = self.pending.pop_front() {
            if self.budget == 0 {
                return;
            }
            let kind = match &at.node.value {
                NodeValue::Bool(value) => SchemaKind::Bool(*value),
                NodeValue::Object(entries) => {
                    SchemaKind::Object(Box::new(self.keywords(id, &at, entries)))
                }
                _ => SchemaKind::Bool(true),
            };
            self.schemas[id.0 as usize].kind = kind;
        }
    }

    fn keywords(&mut self, id: SchemaId, at: &NodeRef<'a>, entries: &'a [Entry]) -> Keywords {
        let is_30 = self.dialect == Dialect::V30;
        // In 3.0, what is beside `$ref` does not count.
        if is_30 && at.node.get("$ref").is_some() {
            return Keywords {
                reference: self.reference(at),
                only_reference: true,
                raw: raw(entries, |_| true),
                ..Keywords::default()
            };
        }
        self.note_values(id, at.node);
        if is_30 && flag(at.node, "nullable") {
            return self.nullable(id, at, entries);
        }
        let mut keywords = self.assertions(id, at);
        annotate(&mut keywords, at.node, entries);
        keywords.raw = raw(entries, |_| true);
        keywords
    }

    /// Reads a 3.0 schema with `nullable: true`.
    fn nullable(&mut self, id: SchemaId, at: &NodeRef<'a>, entries: &'a [Entry]) -> Keywords {
        let has = |key: &&str| at.node.get(key).is_some();
        let only_any_of = at.node.get("anyOf").is_some()
            && entries.iter().all(|entry| {
                matches!(entry.key.as_str(), "anyOf" | "nullable" | "discriminator")
                    || is_annotation(&entry.key)
            });
        // An `anyOf` without anything beside it can have null as one more branch, which makes a
        // simpler schema than an `anyOf` inside another.
        if !COMBINATORS.iter().any(has) || only_any_of {
            let mut keywords = self.assertions(id, at);
            if only_any_of {
                let index = keywords.any_of.len().to_string();
                let list = at.key("anyOf").unwrap_or_else(|| at.clone());
                let null = self.null(&list.child(&index, at.node));
                keywords.any_of.push(null);
            }
            keywords.types = keywords.types.map(|types| types.with(Types::NULL));
            annotate(&mut keywords, at.node, entries);
            keywords.raw = raw(entries, |_| true);
            return keywords;
        }
        // The constraints move into the first branch of an `anyOf`. Annotations stay outside, since
        // they describe the value with null as well.
        let inner = self.add(at, SchemaKind::Bool(true));
        let mut assertions = self.assertions(inner, at);
        assertions.raw = raw(entries, |key| !is_annotation(key));
        self.schemas[inner.0 as usize].kind = SchemaKind::Object(Box::new(assertions));
        let null = self.null(at);
        self.moved.insert(Rc::clone(&at.pointer), (inner, null));
        let mut outer = Keywords {
            any_of: vec![inner, null],
            raw: raw(entries, is_annotation),
            ..Keywords::default()
        };
        annotate(&mut outer, at.node, entries);
        outer
    }

    fn null(&mut self, at: &NodeRef<'a>) -> SchemaId {
        let keywords = Keywords {
            types: Some(Types::NULL),
            raw: vec![("type".into(), "null".into())],
            ..Keywords::default()
        };
        self.add(at, SchemaKind::Object(Box::new(keywords)))
    }

    /// Updates the pointers of everything below a schema that became `anyOf` of itself and null.
    ///
    /// This happens at the end, when all such schemas are known.
    pub(super) fn settle_pointers(&mut self) {
        let moved = std::mem::take(&mut self.moved);
        if moved.is_empty() {
            return;
        }
        let wrapped: HashSet<&str> = moved.keys().map(AsRef::as_ref).collect();
        let mut suffixes = HashMap::new();
        for (inner, null) in moved.values() {
            suffixes.insert(*inner, "/anyOf/0");
            suffixes.insert(*null, "/anyOf/1");
        }
        for (index, schema) in self.schemas.iter_mut().enumerate() {
            schema.pointer = rebase(&schema.pointer, &wrapped);
            let id = u32::try_from(index).expect("ids are 32 bits wide");
            if let Some(suffix) = suffixes.get(&SchemaId(id)) {
                schema.pointer.push_str(suffix);
            }
        }
    }

    pub(super) fn reference(&mut self, at: &NodeRef<'a>) -> Option<SchemaId> {
        let (holder, document) = (at.node, at.document);
        let target = match (holder.get("$ref"), holder.get("$dynamicRef")) {
            (Some(text), _) => self.resolver.resolve(document, holder, text.as_str()?),
            (None, Some(text)) => self
                .resolver
                .resolve_dynamic(document, holder, text.as_str()?),
            (None, None) => return None,
        };
        let target = target.ok()?;
        Some(self.schema(&target))
    }

    /// Records the default, the examples and the listed values of a schema, which it must accept.
    fn note_values(&mut self, id: SchemaId, node: &'a Node) {
        let mut keep = |node: &'a Node, role| {
            self.origins.values.push(ValueSite {
                schema: id,
                node,
                role,
            });
        };
        if let Some(value) = node.get("default") {
            keep(value, Role::Default);
        }
        if let Some(value) = node.get("example") {
            keep(value, Role::Example);
        }
        for value in list(node, "enum") {
            keep(value, Role::Member);
        }
        if self.dialect >= Dialect::V31 {
            for value in list(node, "examples") {
                keep(value, Role::Example);
            }
            if let Some(value) = node.get("const") {
                keep(value, Role::Member);
            }
        }
    }

    pub(super) fn one(&mut self, at: &NodeRef<'a>, key: &str) -> Option<SchemaId> {
        at.key(key).map(|child| self.schema(&child))
    }

    pub(super) fn many(&mut self, at: &NodeRef<'a>, key: &str) -> Vec<SchemaId> {
        let mut ids = Vec::new();
        for child in at.key(key).iter().flat_map(NodeRef::items) {
            if self.budget == 0 {
                break;
            }
            ids.push(self.schema(&child));
        }
        ids
    }

    pub(super) fn map(&mut self, at: &NodeRef<'a>, key: &str) -> IndexMap<String, SchemaId> {
        let mut ids = IndexMap::new();
        for (entry, child) in at.key(key).iter().flat_map(NodeRef::entries) {
            if self.budget == 0 {
                break;
            }
            ids.insert(entry.key.clone(), self.schema(&child));
        }
        ids
    }

    pub(super) fn discriminator(
        &mut self,
        id: SchemaId,
        at: &NodeRef<'a>,
    ) -> Option<Discriminator> {
        let node = at.node.get("discriminator")?;
        let property = text(node, "propertyName")?;
        let mut mapping = Vec::new();
        for entry in node
            .get("mapping")
            .and_then(Node::as_object)
            .unwrap_or_default()
        {
            let target = entry.value.as_str();
            let target = target.and_then(|target| self.mapped(at, node, target));
            mapping.extend(target.map(|target| (entry.key.clone(), target)));
        }
        self.discriminated.push(id);
        let default = node.get("defaultMapping").and_then(Node::as_str);
        let default = default
            .filter(|_| self.dialect >= Dialect::V32)
            .and_then(|target| self.mapped(at, node, target));
        Some(Discriminator {
            property,
            mapping,
            default,
        })
    }

    /// Returns the schema that `target`, an entry of a discriminator's mapping, names: the
    /// component schema with that name, or else the target of the reference. Returns `None` if
    /// both do not exist.
    fn mapped(&mut self, at: &NodeRef<'a>, holder: &Node, target: &'a str) -> Option<SchemaId> {
        if let Some(named) = self.resolver.component_schema(target) {
            return Some(self.schema(&named));
        }
        let found = self.resolver.resolve(at.document, holder, target).ok()?;
        Some(self.schema(&found))
    }

    /// Returns the name of a schema, if it is a component.
    pub(super) fn component_name(&self, id: SchemaId) -> Option<&String> {
        self.schemas[id.0 as usize].component.as_ref()
    }
}

/// Inserts `/anyOf/0` into a pointer after every prefix that is in `wrapped`, the pointers of the
/// schemas that became `anyOf` of themselves and null.
fn rebase(pointer: &str, wrapped: &HashSet<&str>) -> String {
    let mut out = String::with_capacity(pointer.len());
    let mut copied = 0;
    for (at, _) in pointer.match_indices('/') {
        if wrapped.contains(&pointer[..at]) {
            out.push_str(&pointer[copied..at]);
            out.push_str("/anyOf/0");
            copied = at;
        }
    }
    out.push_str(&pointer[copied..]);
    out
}
