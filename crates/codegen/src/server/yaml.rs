//! Writes a JSON value as YAML 1.2 in block style, for contracts that are not one file of YAML.
//!
//! It is a page of code and no dependency, since blocks and two kinds of scalars are all that a
//! JSON value needs.

use std::fmt::Write as _;

use serde_json::Value;

/// Returns a value as a YAML document.
pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    lines(value, 0, Line::New, &mut out);
    out
}

/// Writes a value: a map or list with each entry on lines of its own, anything else on one line.
/// `first` is the state of the line that the value begins on.
fn lines(value: &Value, depth: usize, first: Line, out: &mut String) {
    let mut line = first;
    let mut begin = |out: &mut String| {
        if std::mem::replace(&mut line, Line::New) == Line::New {
            out.extend(std::iter::repeat_n("  ", depth));
        }
    };
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                begin(out);
                text(key, out);
                out.push(':');
                after_key(value, depth, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                begin(out);
                out.push('-');
                after_dash(item, depth, out);
            }
        }
        single => {
            scalar(single, out);
            out.push('\n');
        }
    }
}

/// The state of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Nothing is on it.
    New,
    /// Something is on it, and no indentation is needed.
    Begun,
}

/// Writes the value of a map's entry, after the colon.
fn after_key(value: &Value, depth: usize, out: &mut String) {
    if is_block(value) {
        out.push('\n');
        lines(value, depth + 1, Line::New, out);
    } else {
        out.push(' ');
        lines(value, depth, Line::New, out);
    }
}

/// Writes an item of a list, after the dash.
fn after_dash(value: &Value, depth: usize, out: &mut String) {
    out.push(' ');
    // The first entry of a block is on the dash's own line.
    lines(value, depth + 1, Line::Begun, out);
}

/// Returns whether a value takes lines of its own: a map or list that is not empty.
fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Writes a value that is not a block on the current line.
fn scalar(value: &Value, out: &mut String) {
    match value {
        Value::String(string) => text(string, out),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// Writes a string without quotes if it can only be read as that string, else as in JSON.
fn text(string: &str, out: &mut String) {
    if is_plain(string) {
        out.push_str(string);
    } else {
        // A string of JSON is a double-quoted scalar of YAML 1.2 as it is.
        out.push_str(&serde_json::to_string(string).expect("a string is written as JSON"));
    }
}

/// The words that a reader of YAML 1.1 or 1.2 takes for something else than a string.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Returns whether every YAML reader reads this string as the same string if it is written without
/// quotes.
fn is_plain(string: &str) -> bool {
    // A list of what is safe, and not of what is special, since the latter depends on the version
    // of YAML and on the context.
    let mut characters = string.chars();
    let Some(first) = characters.next() else {
        return false;
    };
    let starts = first.is_ascii_alphabetic() || matches!(first, '/' | '$' | '_');
    let is_safe = |character: char| {
        character.is_ascii_alphanumeric() || " _-/.$,;()+={}'".contains(character)
    };
    let is_word = || WORDS.iter().any(|word| string.eq_ignore_ascii_case(word));
    starts && characters.all(is_safe) && !string.ends_with(' ') && !is_word()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_nest_and_doubtful_texts_are_quoted() {
        let document = json!({
            "openapi": "3.1.0",
            "tags": [{"name": "a", "list": [[1, 2], []]}, "no"],
            "paths": {"/pets/{id}": {"summary": "it: is\n\"so\"", "empty": {}}},
            "200": null,
        });
        let written = write(&document);
        assert_eq!(
            written,
            "openapi: \"3.1.0\"\n\
             tags:\n  - name: a\n    list:\n      - - 1\n        - 2\n      - []\n  - \"no\"\n\
             paths:\n  /pets/{id}:\n    summary: \"it: is\\n\\\"so\\\"\"\n    empty: {}\n\
             \"200\": null\n"
        );
    }
}
