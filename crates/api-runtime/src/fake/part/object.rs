//! Objects: properties that are required, optional and not named by the schema.

use std::collections::BTreeMap;

use proptest::char;
use proptest::collection::{btree_map, vec};
use proptest::option::weighted;
use proptest::strategy::{BoxedStrategy, Just, Strategy as _};
use serde_json::{Map, Value, json};

use super::super::texts;
use super::{DEEP, Part, Taste, count, names};

impl Part {
    /// Returns a strategy for objects.
    pub(super) fn object(&self, keywords: &Map<String, Value>) -> BoxedStrategy<Value> {
        let empty = Map::new();
        let properties = keywords
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let required = names(keywords.get("required"));
        let least = count(keywords, "minProperties").unwrap_or(0);
        let most = count(keywords, "maxProperties").unwrap_or(usize::MAX);
        let undeclared = required
            .iter()
            .filter(|name| !properties.contains_key(*name));
        let others = keywords.get("additionalProperties");
        let anything = others.unwrap_or(&Value::Bool(true));
        let all = properties
            .iter()
            .chain(undeclared.map(|name| (name, anything)));
        // An optional property whose schema accepts nothing is never there.
        let all = all.filter(|(name, schema)| {
            required.contains(*name) || self.source.keywords(schema).is_some()
        });
        let needs_more = required.len() < least;
        let entries: Vec<BoxedStrategy<Option<(String, Value)>>> = all
            .map(|(name, schema)| {
                let name = name.clone();
                // An example shows what there may be.
                let is_shown = self.taste == Taste::Example && self.depth < DEEP;
                let is_certain = is_shown || required.contains(&name);
                let entry = self
                    .inner(schema.clone())
                    .prop_map(move |value| (name.clone(), value));
                match self.chance(needs_more) {
                    _ if is_certain => entry.prop_map(Some).boxed(),
                    None => Just(None).boxed(),
                    Some(chance) => weighted(chance, entry).boxed(),
                }
            })
            .collect();
        let room = most.saturating_sub(entries.len());
        let missing = least.saturating_sub(entries.len()).min(room);
        let known: Vec<String> = properties.keys().cloned().collect();
        let dependent = keywords
            .get("dependentRequired")
            .cloned()
            .unwrap_or_default();
        (entries, self.others(keywords, missing, room))
            .prop_map(move |(entries, others)| {
                let mut made: Map<String, Value> = entries.into_iter().flatten().collect();
                let others = others.into_iter().filter(|(name, _)| !known.contains(name));
                made.extend(others);
                leave_out(&mut made, &dependent);
                made
            })
            .prop_filter(
                "it has as many properties as its schema says",
                move |made| (least..=most).contains(&made.len()),
            )
            .prop_map(Value::Object)
            .boxed()
    }

    /// Returns a strategy for the properties that a schema does not name.
    fn others(
        &self,
        keywords: &Map<String, Value>,
        missing: usize,
        room: usize,
    ) -> BoxedStrategy<BTreeMap<String, Value>> {
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let pattern = patterns.and_then(|patterns| patterns.iter().next());
        let schema = match (pattern, keywords.get("additionalProperties")) {
            (Some((_, schema)), _) | (None, Some(schema)) => schema,
            // Types drop what their schema does not declare.
            (None, None) if missing == 0 => return Just(BTreeMap::new()).boxed(),
            (None, None) => &Value::Bool(true),
        };
        if *schema == Value::Bool(false) {
            return Just(BTreeMap::new()).boxed();
        }
        let name = match (keywords.get("propertyNames"), pattern) {
            (Some(names), _) => {
                let names = json!({"allOf": [names, {"type": "string"}]});
                let names = self.inner(names);
                names
                    .prop_map(|name| name.as_str().unwrap_or_default().to_owned())
                    .boxed()
            }
            (None, Some((pattern, _))) => texts::of_pattern(pattern, 0).unwrap_or_else(word),
            (None, None) => word(),
        };
        let most = missing.saturating_add(self.more()).min(room).max(missing);
        let least = if self.taste == Taste::Example {
            most
        } else {
            missing
        };
        btree_map(name, self.inner(schema.clone()), least..=most).boxed()
    }

    /// Returns how probable an optional property is, or `None` if it is left out. The deeper it is,
    /// the rarer, so that a value has a size even if its schema refers to itself in many places.
    fn chance(&self, needs_more: bool) -> Option<f64> {
        if needs_more {
            return Some(0.5);
        }
        (self.depth < DEEP).then(|| 0.5_f64.powi(self.depth + 1))
    }
}

fn word() -> BoxedStrategy<String> {
    let letters = vec(char::range('a', 'z'), 1..=8);
    letters.prop_map(String::from_iter).boxed()
}

/// Removes the properties that need others which are not there.
fn leave_out(made: &mut Map<String, Value>, dependent: &Value) {
    let dependent = dependent.as_object().into_iter().flatten();
    let dependent: Vec<(&String, Vec<String>)> = dependent
        .map(|(name, needed)| (name, names(Some(needed))))
        .collect();
    // As often as one may leave out another.
    for _ in 0..=dependent.len() {
        for (name, needed) in &dependent {
            if !needed.iter().all(|other| made.contains_key(other)) {
                made.remove(*name);
            }
        }
    }
}
