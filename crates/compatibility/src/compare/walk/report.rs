//! Collects the findings of all pairs of schemas, each with the operations that it reaches and a
//! message that shows it.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::super::{Comparison, is_shown};
use super::Key;
use crate::compare::findings::Findings;
use crate::containment::Containment;
use crate::finding::{Finding, Kind, Witness};
use crate::pair::Side;

impl Comparison<'_> {
    /// Returns the findings of all pairs, each with the operations that it reaches and a message
    /// that shows it.
    pub(in crate::compare) fn schema_findings(&mut self) -> Vec<Finding> {
        let mut reached: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, root) in self.walks.roots.iter().enumerate() {
            let mut seen = HashSet::new();
            let mut pending = vec![root.node];
            while let Some(node) = pending.pop() {
                if seen.insert(node) {
                    pending.extend(&self.walks.nodes[node].parts);
                    if !self.walks.nodes[node].found.is_empty() {
                        reached.entry(node).or_default().push(index);
                    }
                }
            }
        }
        let mut findings = Findings::default();
        let mut renames = self.renames();
        for (index, node) in self.walks.nodes.iter().enumerate() {
            let Some(roots) = reached.get(&index) else {
                continue;
            };
            let operations: BTreeSet<String> = roots
                .iter()
                .map(|root| self.pairs[self.walks.roots[*root].operation].name.clone())
                .collect();
            for found in &node.found {
                if let Some(rename) = self.rename_of(&mut renames, node.key, found, &operations) {
                    if let (None, Kind::Breaking, Some(value)) =
                        (&rename.witness, found.kind, &node.value)
                    {
                        rename.witness = Some(self.witness(node.key, roots, value));
                    }
                    continue;
                }
                // The same pair can be compared for several concerns.
                if let Some(known) = findings.known(found) {
                    known.operations.extend(operations.iter().cloned());
                    continue;
                }
                let witness = match (&found.witness, &node.value) {
                    (Some(witness), _) => Some(witness.clone()),
                    (None, Some(value)) if found.kind == Kind::Breaking => {
                        Some(self.witness(node.key, roots, value))
                    }
                    _ => None,
                };
                debug_assert!(is_shown(found.kind, found.rule, witness.as_ref()));
                findings.push(Finding {
                    kind: found.kind,
                    rule: found.rule,
                    message: found.message.clone(),
                    base: found.base,
                    revision: found.revision,
                    operations: operations.iter().cloned().collect(),
                    witness,
                });
            }
        }
        for rename in renames {
            findings.push(rename.into_finding());
        }
        findings.into_list()
    }

    /// Returns a whole message that shows that a pair of schemas is not contained, or the value
    /// alone if no message shows this and nothing else.
    fn witness(&self, key: Key, roots: &[usize], value: &Value) -> Witness {
        let cause = self.classes(key);
        // With every other cause taken to be contained, only a message that this one breaks is left
        // to find.
        let mut others = HashSet::new();
        for node in self.walks.nodes.iter().filter(|node| node.is_broken) {
            let classes = self.classes(node.key);
            if classes != cause && node.key.flow.goes_like(key.flow) {
                others.insert(classes);
            }
        }
        for root in roots.iter().take(MOST_ROOTS) {
            let root = &self.walks.roots[*root];
            let whole = self.walks.nodes[root.node].key;
            let body = if self.classes(whole) == cause {
                Containment::Broken(value.clone())
            } else {
                self.contain(whole, &others)
            };
            let Containment::Broken(body) = body else {
                continue;
            };
            let message = |body: &Value| self.message(root.operation, &root.place, body);
            let filled = || self.filled(whole, &body).iter().find_map(message);
            if let Some(witness) = message(&body).or_else(filled) {
                return witness;
            }
        }
        Witness::Value(value.to_string())
    }

    /// Returns values that show that a pair is not contained as well, where the smallest one cannot be
    /// written: with letters in place of empty texts and null, or with a part where there is none.
    fn filled(&self, key: Key, value: &Value) -> Vec<Value> {
        let sender = key.flow.sender;
        let (sent, received) = match sender {
            Side::Base => (key.base, key.revision),
            Side::Revision => (key.revision, key.base),
        };
        let mut values = vec![with_letters(value)];
        if value.as_object().is_some_and(serde_json::Map::is_empty) {
            values.extend(self.several(sender, Some(sent), key.flow));
        }
        values.retain(|filled| {
            filled != value
                && self.context.is_valid(sender, sent, filled) == Some(true)
                && self.context.is_valid(sender.other(), received, filled) == Some(false)
        });
        values
    }
}

fn with_letters(value: &Value) -> Value {
    match value {
        Value::String(text) if text.is_empty() => "a".into(),
        Value::Null => "a".into(),
        Value::Array(items) => items.iter().map(with_letters).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::Object(
                fields
                    .map(|(name, part)| (name.clone(), with_letters(part)))
                    .collect(),
            )
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The maximum number of operations that are tried for a message that shows a finding.
const MOST_ROOTS: usize = 4;
