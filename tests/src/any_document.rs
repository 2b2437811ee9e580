//! Checks that hold for every document, valid or not, and random changes that make new documents.
//!
//! The tests make documents at random; the targets of `cargo fuzz` (`tests/fuzz`) let a fuzzer
//! choose them.

use contract::{Contract, Severity};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::random::Choices;

/// Loads the contract from `text`, a document with the file name `name`. Returns `None` if the
/// document is rejected.
///
/// # Panics
///
/// If the document is rejected without an error, or accepted with one.
#[must_use]
pub fn read(name: &str, text: &[u8]) -> Option<Contract> {
    let loaded = contract::load_text(name, text);
    let printed = contract::diagnostic::render(&loaded.sources, &loaded.diagnostics);
    let is_wrong = loaded
        .diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_eq!(
        loaded.contract.is_none(),
        is_wrong,
        "a document is rejected if it has errors, and only then"
    );
    assert_eq!(printed.is_empty(), loaded.diagnostics.is_empty());
    loaded.contract
}

/// Loads the contract from `text`, generates its crates, and parses their files. Returns whether
/// the text is a contract.
///
/// # Panics
///
/// If a contract yields no crates, or files that are not valid Rust, TOML or JSON.
#[must_use]
pub fn generate(name: &str, text: &[u8]) -> bool {
    let Some(contract) = read(name, text) else {
        return false;
    };
    let options = codegen::Options {
        // A copy of the run time would be the same for every document.
        runtime: codegen::Runtime::Path("../api-runtime".to_owned()),
        ..codegen::Options::new("any")
    };
    let files =
        codegen::generate(&contract, &options).expect("crates are generated for every contract");
    for file in &files {
        let extension = file.path.rsplit_once('.').map(|(_, extension)| extension);
        let problem = match extension {
            Some("rs") => syn::parse_file(&file.text)
                .err()
                .map(|error| error.to_string()),
            Some("toml") => file
                .text
                .parse::<toml::Table>()
                .err()
                .map(|error| error.to_string()),
            Some("json") => json_problem(&file.text),
            _ => None,
        };
        assert!(
            problem.is_none(),
            "{}: {}",
            file.path,
            problem.unwrap_or_default()
        );
    }
    true
}

/// Returns why a string is not JSON, or `None` if it is JSON of any depth.
fn json_problem(text: &str) -> Option<String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    // Documents may nest deeper than serde_json reads by default.
    reader.disable_recursion_limit();
    let read = Value::deserialize(&mut reader).and_then(|_| reader.end());
    read.err().map(|error| error.to_string())
}

/// Returns the bytes of a document with a few ranges changed at random, regardless of its syntax.
#[must_use]
pub fn damage(text: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    const SIGNS: [&str; 24] = [
        "\n", " ", "\t", ":", ": ", "- ", "[", "]", "{", "}", ",", "\"", "'", "#", "&a ", "*a",
        "!!str ", "|\n", ">-\n", "\u{0}", "\u{2028}", "\u{feff}", "---\n", "9e999",
    ];
    let mut out = text.to_vec();
    for _ in 0..=choices.below(4) {
        let at = choices.below(out.len() + 1);
        let end = out.len().min(at + choices.below(64));
        match choices.below(5) {
            0 => out
                .splice(at..at, choices.of(&SIGNS).bytes())
                .for_each(drop),
            1 => out
                .splice(at..end, choices.of(&SIGNS).bytes())
                .for_each(drop),
            2 => out.drain(at..end).for_each(drop),
            3 => {
                let copy = out[at..end].to_vec();
                let to = choices.below(out.len() + 1);
                out.splice(to..to, copy).for_each(drop);
            }
            _ if at < out.len() => out[at] = u8::try_from(choices.below(256)).unwrap_or(u8::MAX),
            _ => {}
        }
    }
    out
}

/// Changes a few nodes of a document, each to a value that could be part of some document.
pub fn change(document: &mut Value, choices: &mut Choices<'_>) {
    for _ in 0..=choices.below(3) {
        let pointers = pointers(document);
        let copy = document
            .pointer(choices.of::<String>(&pointers))
            .cloned()
            .unwrap_or_default();
        let target = choices.of(&pointers).clone();
        let new = match choices.below(8) {
            0..=2 => Some(copy),
            3 => Some(stray(choices)),
            4 => Some(json!({"$ref": format!("#{}", choices.of(&pointers))})),
            5 => document
                .pointer(&target)
                .map(|value| wrapped(value, choices)),
            6 => {
                rename(document, &target, choices);
                continue;
            }
            _ => None,
        };
        put(document, &target, new);
    }
}

/// Returns the pointers of all nodes below the root, except `info` and `openapi`: without those
/// two, a document is rejected before anything else is read. Returns the root's if there are no
/// others.
fn pointers(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![(String::new(), document)];
    while let Some((pointer, value)) = pending.pop() {
        let below =
            |token: &str| format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"));
        match value {
            Value::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| (below(key), value));
                pending.extend(
                    entries.filter(|(pointer, _)| pointer != "/info" && pointer != "/openapi"),
                );
            }
            Value::Array(items) => {
                pending.extend(
                    items
                        .iter()
                        .enumerate()
                        .map(|(at, item)| (below(&at.to_string()), item)),
                );
            }
            _ => {}
        }
        found.push(pointer);
    }
    // The root comes first. It is kept only if there is nothing else, since callers need a choice.
    if found.len() > 1 {
        found.remove(0);
    }
    found
}

/// Replaces the node at a pointer by `new`, or removes the node if `new` is `None`.
fn put(document: &mut Value, pointer: &str, new: Option<Value>) {
    if let Some(new) = new {
        if let Some(place) = document.pointer_mut(pointer) {
            *place = new;
        }
        return;
    }
    let Some((parent, token)) = split(pointer) else {
        return;
    };
    match document.pointer_mut(parent) {
        // `remove` would move the last entry here, which changes the order of the whole document.
        Some(Value::Object(entries)) => drop(entries.shift_remove(&token)),
        Some(Value::Array(items)) => drop(token.parse().map(|at: usize| items.remove(at))),
        _ => {}
    }
}

/// Gives the key at the end of a pointer a random new name, and keeps the order of the keys. Does
/// nothing for an item of an array.
fn rename(document: &mut Value, pointer: &str, choices: &mut Choices<'_>) {
    const KEYS: [&str; 28] = [
        "",
        " ",
        "a b",
        "self",
        "Self",
        "r#type",
        "*/",
        "\"",
        "\n",
        "\u{0}",
        "\u{202e}",
        "é",
        "🚀",
        "$ref",
        "allOf",
        "default",
        "const",
        "not",
        "properties",
        "type",
        "items",
        "oneOf",
        "patternProperties",
        "200",
        "4XX",
        "{id}",
        "/{id}/{id}",
        "9",
    ];
    let Some((parent, token)) = split(pointer) else {
        return;
    };
    let Some(Value::Object(entries)) = document.pointer_mut(parent) else {
        return;
    };
    let long = "long".repeat(100);
    let key = if choices.rarely(29) {
        long.as_str()
    } else {
        choices.of(&KEYS)
    };
    let renamed: Map<String, Value> = std::mem::take(entries)
        .into_iter()
        .map(|(old, value)| (if old == token { key.to_owned() } else { old }, value))
        .collect();
    *entries = renamed;
}

fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, token) = pointer.rsplit_once('/')?;
    Some((parent, token.replace("~1", "/").replace("~0", "~")))
}

/// Returns a value that could be part of some document, valid or not.
fn stray(choices: &mut Choices<'_>) -> Value {
    let deep = (0..60).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    let strays = [
        Value::Null,
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1e300),
        json!(3.0),
        json!(u64::MAX),
        json!(""),
        json!("*/ fn main() {} /* \" \\ ``` {}"),
        json!("\u{0}\u{7f}\u{2028}\u{202e}"),
        json!("^(a+)+$"),
        json!("(?!a)\\1"),
        json!("https://example.com/elsewhere.json#/a"),
        json!("é".repeat(2000)),
        json!([]),
        json!({}),
        json!([null, 1, "1", [1], {"1": 1}]),
        json!(["string", "null"]),
        json!({"type": ["object", "array", "integer"]}),
        json!({"type": "string", "enum": ["", " ", "a", "A", "-1", "self", "é"]}),
        json!({"type": "integer", "minimum": 1.5, "multipleOf": 0.1, "exclusiveMaximum": 1e30}),
        json!({"type": "array", "uniqueItems": true, "prefixItems": [true, false], "contains": {}}),
        json!({"type": "object", "required": ["a", "b"], "unevaluatedProperties": false}),
        deep,
    ];
    choices.of(&strays).clone()
}

/// Returns a new value, such as a schema with `allOf`, that contains the given one.
fn wrapped(value: &Value, choices: &mut Choices<'_>) -> Value {
    match choices.below(7) {
        0 => json!({"allOf": [value, {"type": "object"}]}),
        1 => json!({"oneOf": [value, {"type": "null"}]}),
        2 => json!({"anyOf": [value, value]}),
        3 => json!({"not": value}),
        4 => json!({"type": "array", "items": value}),
        5 => json!({"type": "object", "additionalProperties": value}),
        _ => json!([value]),
    }
}
