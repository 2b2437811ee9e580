//! Estimates how often validation would evaluate a schema, so that documents cannot make it run
//! forever.
//!
//! Schemas that name another one several times in `allOf` or `anyOf` can double the work at each
//! level. The estimate counts the evaluations of each pair of schema and value once and adds them
//! up, which takes as long as there are distinct pairs.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::{Contract, Keywords, SchemaId, SchemaKind};

/// The maximum number of evaluations of schemas that validating all values of a document may take.
const MOST_LOOKS: u64 = 20_000_000;
/// The number of distinct pairs of schema and value that are counted. With more, the estimate
/// itself would take too long.
const MOST_PAIRS: usize = 2_000_000;

/// Returns whether validating the values takes at most [`MOST_LOOKS`] evaluations of schemas.
/// Schemas must not refer to themselves without a property or item in between.
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

/// A schema and a value whose evaluations are being added up. The frames form a stack on the heap,
/// because schemas can nest deeper than a thread's stack allows.
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
            // A pair that several schemas lead to is computed once but added each time, because the
            // validator evaluates it each time.
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

/// Returns every schema that may be evaluated for the value or a direct part of it, each with that
/// part.
fn parts<'v>(keywords: &Keywords, value: &'v Value) -> Vec<(SchemaId, &'v Value)> {
    let mut parts: Vec<(SchemaId, &'v Value)> = keywords
        .in_place()
        .into_iter()
        .map(|schema| (schema, value))
        .collect();
    match value {
        Value::Array(items) => {
            // Every item counts for each schema that could apply to it. Which ones do apply depends
            // on names and patterns, so this is an upper bound.
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
