//! Compares the contract with the document that is derived from the generated Rust.
//!
//! Both are normalised first. The rules, all of them:
//!
//! 1. A `$ref` to a parameter, header, response, body, media type, example or path item is replaced by its
//!    target, and those sections of `components` are removed; references to schemas stay.
//! 2. Parameters of a path item become parameters of each of its operations.
//! 3. The security of the document becomes that of each operation without its own.
//! 4. `required`, `type`, `tags` and lists of parameters are sets, so they are sorted.
//! 5. `anyOf` of a schema and null becomes `oneOf` of the two.
//! 6. Blanks at the ends of lines are removed.
//! 7. `required: false`, `deprecated: false`, `allowReserved: false`, and a parameter's default
//!    `style` and `explode` are removed, since their absence means the same.
//! 8. `x-deprecation` and `x-sunset` of what is deprecated are written as the headers have them.

use serde_json::{Map, Value, json};

/// Returns a document in normal form: equal for two documents that mean the same.
#[must_use]
pub fn normalise(document: &Value) -> Value {
    let mut normal = value(document, document, "");
    if let Some(components) = normal.get_mut("components").and_then(Value::as_object_mut) {
        components.retain(|section, _| matches!(section.as_str(), "schemas" | "securitySchemes"));
    }
    let security = normal.get("security").cloned();
    if let Some(paths) = normal.get_mut("paths").and_then(Value::as_object_mut) {
        for item in paths.values_mut() {
            share_parameters(item);
            if let Some(security) = &security {
                share_security(item, security);
            }
        }
    }
    normal
}

/// Returns a message for each difference between two normalised documents, with its pointer and
/// both values, sorted by key.
#[must_use]
pub fn differences(contract: &Value, derived: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", Some(contract), Some(derived), &mut found);
    found
}

fn compare(
    pointer: &str,
    contract: Option<&Value>,
    derived: Option<&Value>,
    found: &mut Vec<String>,
) {
    match (contract, derived) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                compare(
                    &contract::pointer::join(pointer, key),
                    one.get(key),
                    other.get(key),
                    found,
                );
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{pointer}/{at}"), Some(one), Some(other), found);
            }
        }
        (Some(one), Some(other)) if same(one, other) => {}
        (one, other) => {
            let show =
                |side: Option<&Value>| side.map_or_else(|| "nothing".to_owned(), Value::to_string);
            found.push(format!(
                "{pointer}: the contract says {}, the Rust says {}",
                show(one),
                show(other)
            ));
        }
    }
}

/// Returns whether two values are equal as JSON, in which `1` and `1.0` are the same number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}

fn value(document: &Value, node: &Value, key: &str) -> Value {
    match node {
        Value::Object(map) => object(document, map),
        Value::Array(items) => {
            let mut items: Vec<Value> =
                items.iter().map(|item| value(document, item, "")).collect();
            match key {
                // Rule 4: sets, in which the order means nothing.
                "required" | "type" | "tags" if items.iter().all(Value::is_string) => {
                    items.sort_by_key(Value::to_string);
                }
                "parameters" => items.sort_by_key(parameter_key),
                _ => {}
            }
            Value::Array(items)
        }
        Value::String(text) => {
            // Rule 6.
            let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
            Value::String(lines.join("\n"))
        }
        other => other.clone(),
    }
}

fn object(document: &Value, map: &Map<String, Value>) -> Value {
    // Rule 1. Schemas keep their references, which may lead in a circle.
    if let Some(Value::String(reference)) = map.get("$ref")
        && !reference.starts_with("#/components/schemas/")
        && let Some(target) = document.pointer(reference.trim_start_matches('#'))
    {
        return value(document, target, "");
    }
    let mut made = Map::new();
    for (key, inside) in map {
        let inside = value(document, inside, key);
        // Rule 7.
        let absent = matches!(key.as_str(), "required" | "deprecated" | "allowReserved")
            && inside == json!(false);
        if absent || is_default_style(map, key, &inside) {
            continue;
        }
        // Rule 8.
        let inside = if map.get("deprecated") == Some(&json!(true)) {
            as_header(key, &inside).unwrap_or(inside)
        } else {
            inside
        };
        // Rule 5.
        let key = match key.as_str() {
            "anyOf" if is_nullable(&inside) => "oneOf".to_owned(),
            other => other.to_owned(),
        };
        made.insert(key, inside);
    }
    Value::Object(made)
}

/// Returns a point in time as its header has it.
fn as_header(key: &str, value: &Value) -> Option<Value> {
    let moment = contract::Moment::parse(value.as_str()?)?;
    match key {
        "x-deprecation" => Some(format!("@{}", moment.seconds()).into()),
        "x-sunset" => Some(moment.http_date().into()),
        _ => None,
    }
}

fn is_nullable(members: &Value) -> bool {
    members
        .as_array()
        .is_some_and(|members| members.len() == 2 && members.contains(&json!({"type": "null"})))
}

fn is_default_style(map: &Map<String, Value>, key: &str, inside: &Value) -> bool {
    let Some(location) = map.get("in").and_then(Value::as_str) else {
        return false;
    };
    let (style, explode) = match location {
        "query" | "cookie" => ("form", true),
        _ => ("simple", false),
    };
    match key {
        "style" => inside == style,
        "explode" => inside == explode,
        _ => false,
    }
}

fn parameter_key(parameter: &Value) -> String {
    format!("{} {}", parameter["in"], parameter["name"])
}

/// Returns the operations of a path item, with its additional ones.
fn operations(item: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    item.iter_mut().flat_map(|(key, value)| {
        let several: Vec<&mut Value> = if key == "additionalOperations" {
            let additional = value.as_object_mut();
            additional.into_iter().flat_map(Map::values_mut).collect()
        } else {
            vec![value]
        };
        several.into_iter().filter_map(Value::as_object_mut)
    })
}

fn share_parameters(item: &mut Value) {
    let Some(item) = item.as_object_mut() else {
        return;
    };
    let Some(Value::Array(shared)) = item.remove("parameters") else {
        return;
    };
    for operation in operations(item) {
        let own = operation.entry("parameters").or_insert_with(|| json!([]));
        let Some(own) = own.as_array_mut() else {
            continue;
        };
        for parameter in &shared {
            if own
                .iter()
                .all(|other| parameter_key(other) != parameter_key(parameter))
            {
                own.push(parameter.clone());
            }
        }
        own.sort_by_key(parameter_key);
    }
}

fn share_security(item: &mut Value, security: &Value) {
    let Some(item) = item.as_object_mut() else {
        return;
    };
    for operation in operations(item) {
        operation
            .entry("security")
            .or_insert_with(|| security.clone());
    }
}
