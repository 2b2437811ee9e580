//! The strategy for one schema, which makes those of its parts.

mod object;

use std::sync::Arc;

use proptest::collection::vec;
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Just, NewTree, Strategy, Union};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::source::Source;
use super::{numbers, texts};
use crate::__private::json_eq;

/// The depth from which optional parts are left out.
const DEEP: i32 = 4;
/// The depth at which a value ends in any case. What is not complete then is rejected.
const DEEPEST: i32 = 32;
/// The most items and entries that are made beyond those that a schema demands, at the top.
const MORE: usize = 3;

/// Which values are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taste {
    /// All that a schema accepts.
    Any,
    /// One of the examples of its parts, with the optional ones.
    Example,
}

/// A strategy for the values of a schema.
///
/// It reads the schema when a value is drawn and not before, since schemas may refer to themselves.
#[derive(Debug, Clone)]
pub(super) struct Part {
    source: Arc<Source>,
    schema: Value,
    taste: Taste,
    depth: i32,
}

impl Strategy for Part {
    type Tree = <BoxedStrategy<Value> as Strategy>::Tree;
    type Value = Value;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        self.strategy().new_tree(runner)
    }
}

impl Part {
    pub(super) fn new(source: Arc<Source>, schema: Value, taste: Taste) -> Self {
        Self {
            source,
            schema,
            taste,
            depth: 0,
        }
    }

    /// Returns the strategy for another schema, of the same value.
    fn with(&self, schema: Value) -> Self {
        Self {
            schema,
            ..self.clone()
        }
    }

    /// Returns the strategy for a part of the value.
    fn inner(&self, schema: Value) -> Self {
        Self {
            depth: self.depth + 1,
            ..self.with(schema)
        }
    }

    fn strategy(&self) -> BoxedStrategy<Value> {
        let keywords = self.source.keywords(&self.schema);
        let Some(mut keywords) = keywords.filter(|_| self.depth < DEEPEST) else {
            return Just(Value::Null).boxed();
        };
        if self.taste == Taste::Example
            && let Some(example) = keywords.get("examples").and_then(|list| list.get(0))
        {
            return Just(example.clone()).boxed();
        }
        if let Some(constant) = keywords.remove("const") {
            return Just(constant).boxed();
        }
        if let Some(Value::Array(values)) = keywords.remove("enum") {
            return match (self.taste, values.first()) {
                (_, None) => Just(Value::Null).boxed(),
                (Taste::Example, Some(first)) => Just(first.clone()).boxed(),
                (Taste::Any, Some(_)) => select(values).boxed(),
            };
        }
        for alternatives in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = keywords.remove(alternatives) {
                return self.choice(&branches, keywords);
            }
        }
        match types(&keywords)[..] {
            [ty] => self.of_type(ty, &keywords),
            [] => anything(),
            _ => {
                let types = keywords.remove("type").unwrap_or_default();
                let types = types.as_array().into_iter().flatten();
                let branches: Vec<Value> = types.map(|ty| json!({"type": ty})).collect();
                self.choice(&branches, keywords)
            }
        }
    }

    /// Returns a strategy for the values of alternatives, each together with the keywords beside
    /// them.
    fn choice(&self, branches: &[Value], mut beside: Map<String, Value>) -> BoxedStrategy<Value> {
        let discriminator = beside.remove("discriminator").unwrap_or_default();
        let mut made = Vec::new();
        for branch in branches {
            let schema = json!({"allOf": [branch, Value::Object(beside.clone())]});
            let Some(keywords) = self.source.keywords(&schema) else {
                continue;
            };
            let strategy = self.with(schema).tagged(&discriminator, branch);
            let is_nested =
                !matches!(types(&keywords)[..], [ty] if ty != "object" && ty != "array");
            let is_null = types(&keywords)[..] == ["null"];
            made.push((is_null, is_nested, strategy));
        }
        // Where a value is deep, those that end it.
        if self.depth >= DEEP && made.iter().any(|(_, is_nested, _)| !is_nested) {
            made.retain(|(_, is_nested, _)| !is_nested);
        }
        // Values shrink towards the first alternative, and the first one that is not null is
        // what an example has.
        made.sort_by_key(|(is_null, ..)| *is_null == (self.taste == Taste::Example));
        if self.taste == Taste::Example {
            made.truncate(1);
        }
        if made.is_empty() {
            return Just(Value::Null).boxed();
        }
        let weight = |is_null: bool| if is_null { 1 } else { 3 };
        let weighted = made.into_iter();
        let weighted = weighted.map(|(is_null, _, strategy)| (weight(is_null), strategy));
        Union::new_weighted(weighted.collect()).boxed()
    }

    /// Returns the strategy with the value of the property by which a discriminator selects a
    /// branch.
    fn tagged(self, discriminator: &Value, branch: &Value) -> BoxedStrategy<Value> {
        let Some(property) = discriminator["propertyName"].as_str().map(str::to_owned) else {
            return self.boxed();
        };
        let mapping = discriminator["mapping"].as_object().into_iter().flatten();
        let own = mapping.filter(|(_, target)| **target == branch["$ref"]);
        let tags: Vec<Value> = own.map(|(tag, _)| Value::String(tag.clone())).collect();
        self.prop_map(move |mut value| {
            // A branch that says what its tag is has one of them already.
            if let (Value::Object(entries), Some(first)) = (&mut value, tags.first())
                && !entries.get(&property).is_some_and(|tag| tags.contains(tag))
            {
                entries.insert(property.clone(), first.clone());
            }
            value
        })
        .boxed()
    }

    fn of_type(&self, ty: &str, keywords: &Map<String, Value>) -> BoxedStrategy<Value> {
        match ty {
            "object" => self.object(keywords),
            "array" => self.array(keywords),
            "string" => texts::text(keywords).prop_map(Value::String).boxed(),
            "integer" => numbers::integer(keywords),
            "number" => numbers::number(keywords),
            "boolean" => proptest::bool::ANY.prop_map(Value::Bool).boxed(),
            _ => Just(Value::Null).boxed(),
        }
    }

    /// Returns how many more items or entries are made than a schema demands.
    fn more(&self) -> usize {
        match self.taste {
            Taste::Any => MORE.saturating_sub(self.depth.unsigned_abs() as usize),
            Taste::Example => usize::from(self.depth < DEEP),
        }
    }

    fn array(&self, keywords: &Map<String, Value>) -> BoxedStrategy<Value> {
        let least = count(keywords, "minItems").unwrap_or(0);
        let most = count(keywords, "maxItems").unwrap_or(usize::MAX);
        let items = keywords.get("items").cloned().unwrap_or(Value::Bool(true));
        let mut first: Vec<Part> = Vec::new();
        if let Some(contained) = keywords.get("contains") {
            let needed = count(keywords, "minContains").unwrap_or(1);
            let schema = json!({"allOf": [contained, items]});
            first.extend((0..needed).map(|_| self.inner(schema.clone())));
        }
        if let Some(Value::Array(prefix)) = keywords.get("prefixItems") {
            first = prefix
                .iter()
                .map(|schema| self.inner(schema.clone()))
                .collect();
        }
        first.truncate(most);
        let is_unique = keywords.get("uniqueItems") == Some(&Value::Bool(true));
        let rest = least.saturating_sub(first.len());
        let room = most.saturating_sub(first.len());
        // None of an item that accepts nothing.
        let more = if items == Value::Bool(false) {
            0
        } else {
            self.more()
        };
        let start = match self.taste {
            Taste::Any => rest,
            Taste::Example => rest.max(more.min(room)),
        };
        let rest = vec(
            self.inner(items),
            start..=rest.saturating_add(more).min(room).max(start),
        );
        (first, rest)
            .prop_filter_map("it has different items", move |(mut items, rest)| {
                items.extend(rest);
                if is_unique {
                    let mut kept: Vec<Value> = Vec::new();
                    for item in items {
                        if !kept.iter().any(|known| json_eq(known, &item)) {
                            kept.push(item);
                        }
                    }
                    items = kept;
                }
                (items.len() >= least).then_some(Value::Array(items))
            })
            .boxed()
    }
}

/// Returns the types of a schema, which other keywords imply if it does not say.
fn types(keywords: &Map<String, Value>) -> Vec<&str> {
    match keywords.get("type") {
        Some(Value::String(ty)) => vec![ty],
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        _ => {
            let implied = [
                (
                    "object",
                    &[
                        "properties",
                        "required",
                        "additionalProperties",
                        "minProperties",
                        "patternProperties",
                    ][..],
                ),
                ("array", &["items", "prefixItems", "contains", "minItems"]),
                ("string", &["pattern", "minLength", "maxLength"]),
                (
                    "number",
                    &[
                        "minimum",
                        "maximum",
                        "exclusiveMinimum",
                        "exclusiveMaximum",
                        "multipleOf",
                    ],
                ),
            ];
            let is_implied = |names: &[&str]| names.iter().any(|name| keywords.contains_key(*name));
            let implied = implied.into_iter().find(|(_, names)| is_implied(names));
            implied.map(|(ty, _)| ty).into_iter().collect()
        }
    }
}

/// Returns a strategy for small values of any type.
fn anything() -> BoxedStrategy<Value> {
    let values = [
        json!(null),
        json!(false),
        json!(0),
        json!(-1.5),
        json!("any"),
        json!([]),
        json!({}),
        json!([null, true]),
        json!({"any": 1}),
    ];
    select(Vec::from(values)).boxed()
}

fn count(keywords: &Map<String, Value>, name: &str) -> Option<usize> {
    usize::try_from(keywords.get(name)?.as_u64()?).ok()
}

fn names(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}
