//! Counts what a validator keeps for `unevaluatedProperties` and `unevaluatedItems`.
//!
//! To know what is evaluated, the `jsonschema` crate follows each way from such a keyword's schema
//! through `$ref`, `allOf`, `anyOf` and the like when it compiles the schema, and keeps the parts that
//! it met on each way. Twelve schemas of which each names the next four times have 16 million ways.

use std::collections::{HashMap, HashSet};

use crate::model::{Contract, Schema, SchemaId, SchemaKind};

/// The maximum number of parts that a validator keeps for the `unevaluated…` of all schemas of a
/// document. A part takes about 1 KB.
pub(crate) const MOST_WAYS: usize = 200_000;

/// A schema on a way.
struct Step {
    id: SchemaId,
    parts: Vec<SchemaId>,
    /// The index of the part that the way goes on to.
    next: usize,
    /// Whether the way leads through a reference.
    is_referred: bool,
}

/// Counts the ways of the schemas of a contract, each schema once.
pub(crate) struct Ways<'c> {
    contract: &'c Contract,
    seen: HashSet<SchemaId>,
    sizes: HashMap<SchemaId, usize>,
}

impl<'c> Ways<'c> {
    /// Returns the counter of a contract, which has counted no schema.
    pub(crate) fn of(contract: &'c Contract) -> Self {
        Self {
            contract,
            seen: HashSet::new(),
            sizes: HashMap::new(),
        }
    }

    /// Returns whether a validator follows the ways from a schema itself.
    pub(crate) fn are_followed(schema: &Schema) -> bool {
        keywords_with_ways(schema) > 0
    }

    /// Returns the number of parts that a validator of a schema keeps, except those of schemas that were
    /// counted before, or `None` if they are more than `most`.
    pub(crate) fn count(&mut self, id: SchemaId, most: usize) -> Option<usize> {
        let mut left = most;
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            if !self.seen.insert(id) {
                continue;
            }
            let SchemaKind::Object(keywords) = &self.contract.schema(id).kind else {
                continue;
            };
            pending.extend(keywords.reference);
            keywords.for_each_child(|child| pending.push(child));
            left = left.checked_sub(self.own(id, left)?)?;
        }
        Some(most - left)
    }

    /// Returns the number of parts that a schema's own `unevaluated…` takes, or `None` if they are more
    /// than `most`.
    pub(crate) fn own(&mut self, id: SchemaId, most: usize) -> Option<usize> {
        let times = keywords_with_ways(self.contract.schema(id));
        if times == 0 {
            return Some(0);
        }
        let walked = self.walk(id, most / times)?;
        Some(walked * times)
    }

    /// Follows each way from a schema, until it comes to a schema that is on it already.
    fn walk(&mut self, id: SchemaId, most: usize) -> Option<usize> {
        let mut left = most;
        let mut on_way = HashSet::from([id]);
        // The schemas of the way, not by recursion, since ways may be as long as the document has schemas.
        let mut way = vec![Step {
            id,
            parts: self.parts(id),
            next: 0,
            is_referred: false,
        }];
        while let Some(step) = way.last_mut() {
            let Some(part) = step.parts.get(step.next).copied() else {
                on_way.remove(&step.id);
                way.pop();
                continue;
            };
            let is_reference = step.next == 0 && self.reference(step.id) == Some(part);
            step.next += 1;
            if !on_way.insert(part) {
                continue;
            }
            // The target of a reference is compiled once, and so is what stands within the schema itself.
            // What stands within a target is compiled once more for this way.
            let is_referred = step.is_referred || is_reference;
            let size = if is_referred && !is_reference {
                self.size(part)
            } else {
                1
            };
            left = left.checked_sub(size)?;
            way.push(Step {
                id: part,
                parts: self.parts(part),
                next: 0,
                is_referred,
            });
        }
        Some(most - left)
    }

    fn reference(&self, id: SchemaId) -> Option<SchemaId> {
        match &self.contract.schema(id).kind {
            SchemaKind::Object(keywords) => keywords.reference,
            SchemaKind::Bool(_) => None,
        }
    }

    /// Returns the schemas that apply to the same value as this one, the target of its reference first.
    fn parts(&self, id: SchemaId) -> Vec<SchemaId> {
        self.contract.schema(id).kind.in_place()
    }

    /// Returns the number of schemas within a schema and itself, which are compiled again on each way.
    fn size(&mut self, id: SchemaId) -> usize {
        if let Some(size) = self.sizes.get(&id) {
            return *size;
        }
        let mut size = 0;
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            size += 1;
            if let SchemaKind::Object(keywords) = &self.contract.schema(id).kind {
                keywords.for_each_child(|child| pending.push(child));
            }
        }
        self.sizes.insert(id, size);
        size
    }
}

/// Returns the number of keywords of a schema for which a validator follows the ways from it.
fn keywords_with_ways(schema: &Schema) -> usize {
    match &schema.kind {
        SchemaKind::Object(keywords) => {
            let both = [keywords.unevaluated_properties, keywords.unevaluated_items];
            both.iter().flatten().count()
        }
        SchemaKind::Bool(_) => 0,
    }
}
