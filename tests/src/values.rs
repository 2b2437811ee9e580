//! Random JSON values for a schema: mostly valid, sometimes just outside it.
//!
//! A value is made from a string of choices, so that proptest shrinks the value by shrinking the
//! choices. This module reads JSON Schema by itself and uses nothing of the generator, whose work
//! it tests.

use serde_json::{Map, Number, Value, json};

use crate::random::Choices;

/// The depth beyond which optional parts of values are left out, so that values of recursive
/// schemas end.
const DEEP: usize = 6;

/// Returns a random value for `schema`, which is mostly valid. The references of the schema are
/// pointers into `bundle`.
#[must_use]
pub fn value(bundle: &Value, schema: &Value, choices: &mut Choices<'_>, depth: usize) -> Value {
    // Rarely, here and below: of a value with several faults only the first is noticed, so the
    // others would prove nothing.
    if choices.rarely(61) {
        return stray(choices);
    }
    let schema = match schema {
        Value::Bool(_) => return stray(choices),
        Value::Object(keywords) => keywords,
        other => return other.clone(),
    };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = bundle.pointer(&target[1..]).unwrap_or(&Value::Bool(true));
        return value(bundle, target, choices, depth);
    }
    for alternatives in ["oneOf", "anyOf"] {
        if let Some(members) = schema.get(alternatives).and_then(Value::as_array) {
            return value(
                bundle,
                &members[choices.below(members.len())],
                choices,
                depth,
            );
        }
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return listed(values, choices);
    }
    match type_of(schema, choices) {
        "null" => Value::Null,
        "boolean" => Value::Bool(choices.below(2) == 1),
        "integer" => number(schema, choices, true),
        "number" => number(schema, choices, false),
        "string" => Value::String(text(schema, choices)),
        "array" => array(bundle, schema, choices, depth),
        _ => object(bundle, schema, choices, depth),
    }
}

/// Returns a small value of any type, regardless of the schema.
fn stray(choices: &mut Choices<'_>) -> Value {
    let strays = [
        Value::Null,
        json!(false),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(16.0),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("stray"),
        json!([]),
        json!({}),
        json!([null]),
        json!({"stray": 1}),
    ];
    strays[choices.below(strays.len())].clone()
}

fn listed(values: &[Value], choices: &mut Choices<'_>) -> Value {
    let value = &values[choices.below(values.len())];
    match value.as_str() {
        Some(text) if choices.rarely(23) => Value::String(beside(text, choices)),
        _ => value.clone(),
    }
}

fn type_of<'s>(schema: &'s Map<String, Value>, choices: &mut Choices<'_>) -> &'s str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => names[choices.below(names.len())].as_str().unwrap_or("null"),
        _ => ["object", "string", "integer", "boolean", "array", "null"][choices.below(6)],
    }
}

fn number(schema: &Map<String, Value>, choices: &mut Choices<'_>, integer: bool) -> Value {
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    let low = bound("minimum").unwrap_or(-3);
    let high = bound("maximum").unwrap_or(low.saturating_add(200));
    let middle = low
        .saturating_add(i64::try_from(choices.below(200)).unwrap_or(0))
        .min(high);
    match choices.below(12) {
        4 => json!(low),
        5 => json!(high),
        6 => json!(low.saturating_sub(1)),
        7 => json!(high.saturating_add(1)),
        // An integer as a float, such as `16.0`, which JSON Schema counts as an integer.
        #[expect(
            clippy::cast_precision_loss,
            reason = "any float near the bound serves"
        )]
        8 => Number::from_f64(middle as f64).map_or(Value::Null, Value::Number),
        #[expect(
            clippy::cast_precision_loss,
            reason = "any float near the bound serves"
        )]
        9 if integer => json!(middle as f64 + 0.5),
        // Just beyond `format: int32`.
        10 => json!(i64::from(i32::MAX) + 1),
        _ => json!(middle),
    }
}

fn text(schema: &Map<String, Value>, choices: &mut Choices<'_>) -> String {
    let pattern = schema.get("pattern").and_then(Value::as_str);
    let examples: Vec<&str> = schema
        .get("examples")
        .and_then(Value::as_array)
        .map(|examples| examples.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let length = |name: &str| {
        schema
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|n| usize::try_from(n).ok())
    };
    // Examples first: a text that is made for a pattern may still break a format.
    let base = match (pattern, examples.as_slice()) {
        (_, [_, ..]) => examples[choices.below(examples.len())].to_owned(),
        (Some(pattern), []) => jsonschema_regex::pattern_witness(pattern).unwrap_or_default(),
        (None, []) => "a".repeat(length("minLength").unwrap_or(0).max(choices.below(9))),
    };
    match choices.below(10) {
        0..=4 => base,
        5 | 6 => beside(&base, choices),
        7 => sized(&base, length("maxLength").unwrap_or(40)),
        8 => sized(&base, length("maxLength").map_or(41, |most| most + 1)),
        _ => sized(&base, length("minLength").unwrap_or(1).saturating_sub(1)),
    }
}

/// Returns a string cut or repeated to `length` characters. An empty one becomes characters of two
/// bytes, so that lengths in bytes and in characters differ.
fn sized(text: &str, length: usize) -> String {
    let source = if text.is_empty() { "é" } else { text };
    source.chars().cycle().take(length).collect()
}

/// Returns a string with one character added, removed or replaced.
fn beside(text: &str, choices: &mut Choices<'_>) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let at = choices.below(characters.len().max(1));
    let odd = [
        '-', 'A', 'z', '0', ' ', '\n', 'é', '𝒳', '.', '/', '\u{0}', 'i', ':',
    ][choices.below(13)];
    match choices.below(4) {
        0 if at < characters.len() => {
            characters.remove(at);
        }
        1 if at < characters.len() => characters[at] = odd,
        2 => characters.push(odd),
        _ => characters.insert(at.min(characters.len()), odd),
    }
    characters.into_iter().collect()
}

fn array(
    bundle: &Value,
    schema: &Map<String, Value>,
    choices: &mut Choices<'_>,
    depth: usize,
) -> Value {
    let count = |name: &str| {
        schema
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|n| usize::try_from(n).ok())
    };
    let least = count("minItems").unwrap_or(0);
    let length = match choices.below(8) {
        _ if depth > DEEP => least,
        0..=4 => least + choices.below(3),
        5 => least.saturating_sub(1),
        6 => count("maxItems").unwrap_or(3).min(300),
        _ => count("maxItems").unwrap_or(3).min(300) + 1,
    };
    let anything = Value::Bool(true);
    let items = schema.get("items").unwrap_or(&anything);
    let mut values: Vec<Value> = (0..length)
        .map(|_| value(bundle, items, choices, depth + 1))
        .collect();
    if choices.rarely(5)
        && let Some(first) = values.first().cloned()
    {
        // Twice the same item, for `uniqueItems`.
        values.push(first);
    }
    Value::Array(values)
}

fn object(
    bundle: &Value,
    schema: &Map<String, Value>,
    choices: &mut Choices<'_>,
    depth: usize,
) -> Value {
    let empty = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut made = Map::new();
    for (name, property) in properties {
        let wanted = if required.contains(&name.as_str()) {
            !choices.rarely(47)
        } else {
            depth <= DEEP && choices.below(2) == 1
        };
        if wanted {
            let inside = if choices.rarely(53) {
                Value::Null
            } else {
                value(bundle, property, choices, depth + 1)
            };
            made.insert(name.clone(), inside);
        }
    }
    let extra = match schema.get("additionalProperties") {
        Some(Value::Object(_)) if depth <= DEEP => choices.below(3),
        _ => usize::from(choices.rarely(13)),
    };
    for at in 0..extra {
        let inside = match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => value(bundle, values, choices, depth + 1),
            _ => stray(choices),
        };
        made.insert(format!("extra_{at}"), inside);
    }
    Value::Object(made)
}
