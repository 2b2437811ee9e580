//! The schemas that values are made of: those of the types, with their examples.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::Described;

/// The maximum number of references that are followed, and `allOf` that are entered, to read one
/// schema: four for each link of a chain of `allOf`.
const MOST_STEPS: usize = 256;
/// The keywords of which the greater value is narrower.
const LOW: [&str; 5] = [
    "minimum",
    "exclusiveMinimum",
    "minLength",
    "minItems",
    "minProperties",
];
/// The keywords of which the smaller value is narrower.
const HIGH: [&str; 5] = [
    "maximum",
    "exclusiveMaximum",
    "maxLength",
    "maxItems",
    "maxProperties",
];
/// The pointer to the components, as the start of a reference.
const COMPONENTS: &str = "#/components/schemas/";

/// The schemas of a type and of all that it refers to.
#[derive(Debug)]
pub(super) struct Source {
    components: BTreeMap<String, Value>,
    bundle: &'static Value,
}

impl Source {
    /// Returns the schemas of a type. `bundle` has those of the contract.
    pub(super) fn of<T: Described>(bundle: &'static Value) -> Self {
        let mut components = BTreeMap::new();
        T::collect(&mut components);
        Self { components, bundle }
    }

    /// Returns the keywords of a schema together with those of its references and of its `allOf`.
    /// Returns `None` if it accepts nothing.
    pub(super) fn keywords(&self, schema: &Value) -> Option<Map<String, Value>> {
        let mut keywords = Map::new();
        let mut pending = vec![schema.clone()];
        for _ in 0..MOST_STEPS {
            let Some(schema) = pending.pop() else {
                return Some(keywords);
            };
            let own = match schema {
                Value::Object(own) => own,
                Value::Bool(false) => return None,
                _ => continue,
            };
            if let Some(Value::String(reference)) = own.get("$ref") {
                pending.extend(self.referred(reference));
            }
            if let Some(Value::Array(parts)) = own.get("allOf") {
                // Reversed, because the last one is read next: of keywords that cannot be joined,
                // the first one in the document counts.
                pending.extend(parts.iter().rev().cloned());
            }
            merge(&mut keywords, own);
        }
        None
    }

    /// Returns what a reference leads to: the schema that the type of a component describes, and
    /// that of the contract, since types leave keywords to the contract's schemas that Rust cannot
    /// express.
    fn referred(&self, reference: &str) -> Vec<Value> {
        let described = reference.strip_prefix(COMPONENTS);
        let described = described.and_then(|name| self.components.get(name));
        let pointer = reference.strip_prefix('#').unwrap_or_default();
        let declared = self.bundle.pointer(pointer);
        // The last one is read first.
        declared.into_iter().chain(described).cloned().collect()
    }
}

/// Adds the keywords of another schema for the same value. `properties`, `required` and patterns are
/// joined, and of bounds the narrower one is kept. Of others the first one is kept: what it leaves
/// out is found when a value is decoded.
fn merge(into: &mut Map<String, Value>, other: Map<String, Value>) {
    for (name, value) in other {
        match (name.as_str(), into.get_mut(&name), value) {
            ("properties", Some(Value::Object(known)), Value::Object(more)) => {
                for (name, property) in more {
                    known.entry(name).or_insert(property);
                }
            }
            ("required", Some(Value::Array(known)), Value::Array(more)) => {
                for name in more {
                    if !known.contains(&name) {
                        known.push(name);
                    }
                }
            }
            ("pattern", Some(known), Value::String(pattern)) => join(known, pattern),
            (name, Some(known), value) if LOW.contains(&name) || HIGH.contains(&name) => {
                let is_above = value.as_f64() > known.as_f64();
                if is_above == LOW.contains(&name) {
                    *known = value;
                }
            }
            // What these lead to is merged by itself.
            ("$ref" | "allOf", ..) | (_, Some(_), _) => {}
            (_, None, value) => {
                into.insert(name, value);
            }
        }
    }
}

/// Adds a pattern to one, or to a list of them.
fn join(known: &mut Value, pattern: String) {
    let mut all = match known.take() {
        Value::Array(all) => all,
        one => vec![one],
    };
    let pattern = Value::String(pattern);
    if !all.contains(&pattern) {
        all.push(pattern);
    }
    *known = Value::Array(all);
}
