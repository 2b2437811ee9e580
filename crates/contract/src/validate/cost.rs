//! How often a validator would look at something, so that schemas built to take forever are left alone.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::{Contract, Keywords, SchemaId, SchemaKind};

/// More looks than this take too long.
const MOST_LOOKS: u64 = 20_000_000;
/// More pairs of schema and value than this are not counted through.
const MOST_PAIRS: usize = 2_000_000;

/// Whether judging the values takes a bearable time. In-place references must not go in circles.
pub(super) fn is_affordable<'v>(
    contract: &Contract,
    sites: impl Iterator<Item = (SchemaId, &'v Value)>,
) -> bool {
    let mut counter = Counter {
        contract,
        known: HashMap::new(),
    };
    let mut total: u64 = 0;
    for (schema, value) in sites {
        total = total.saturating_add(counter.looks(schema, value));
        if total > MOST_LOOKS || counter.known.len() > MOST_PAIRS {
            return false;
        }
    }
    true
}

struct Counter<'c> {
    contract: &'c Contract,
    known: HashMap<(SchemaId, usize), u64>,
}

/// A schema and a value whose cost is being summed up.
struct Frame<'v> {
    key: (SchemaId, usize),
    parts: Vec<(SchemaId, &'v Value)>,
    next: usize,
    sum: u64,
}

impl Counter<'_> {
    fn looks(&mut self, schema: SchemaId, value: &Value) -> u64 {
        let mut stack = vec![self.frame(schema, value)];
        let mut last = 0;
        while let Some(frame) = stack.last_mut() {
            let Some((schema, value)) = frame.parts.get(frame.next).copied() else {
                last = frame.sum;
                self.known.insert(frame.key, frame.sum);
                stack.pop();
                continue;
            };
            match self.known.get(&(schema, address(value))) {
                Some(cost) => {
                    frame.sum = frame.sum.saturating_add(*cost);
                    frame.next += 1;
                }
                None if self.known.len() > MOST_PAIRS => return MOST_LOOKS,
                None => {
                    let inner = self.frame(schema, value);
                    stack.push(inner);
                }
            }
        }
        last
    }

    fn frame<'v>(&self, schema: SchemaId, value: &'v Value) -> Frame<'v> {
        let parts = match &self.contract.schema(schema).kind {
            SchemaKind::Object(keywords) => parts(keywords, value),
            SchemaKind::Bool(_) => Vec::new(),
        };
        Frame {
            key: (schema, address(value)),
            parts,
            next: 0,
            sum: 1,
        }
    }
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// Every schema that would look at the value or at a part of it.
fn parts<'v>(keywords: &Keywords, value: &'v Value) -> Vec<(SchemaId, &'v Value)> {
    let mut parts: Vec<(SchemaId, &'v Value)> = keywords
        .in_place()
        .into_iter()
        .map(|schema| (schema, value))
        .collect();
    match value {
        Value::Array(items) => {
            let every = [
                keywords.items,
                keywords.contains,
                keywords.unevaluated_items,
            ];
            for schema in every.into_iter().flatten() {
                parts.extend(items.iter().map(|item| (schema, item)));
            }
            parts.extend(keywords.prefix_items.iter().copied().zip(items));
        }
        Value::Object(entries) => {
            let every = [
                keywords.additional_properties,
                keywords.unevaluated_properties,
            ];
            let every = every.into_iter().flatten();
            for schema in every.chain(keywords.pattern_properties.values().copied()) {
                parts.extend(entries.values().map(|item| (schema, item)));
            }
            for (name, item) in entries {
                parts.extend(keywords.properties.get(name).map(|schema| (*schema, item)));
            }
        }
        _ => {}
    }
    parts
}
