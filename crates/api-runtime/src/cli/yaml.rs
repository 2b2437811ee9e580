//! JSON values as YAML.
//!
//! The writer is ours: it is these lines, where the serializers that are maintained need a newer
//! compiler than generated crates do.

use serde_json::Value;

/// Returns a value as a document of YAML 1.2.
pub(super) fn document(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text.trim_start_matches([' ', '\n']).to_owned()
}

/// Writes a value behind a key or a dash: a single one on the same line, others below.
fn write(text: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                text.push_str(&format!("\n{indent}{}:", scalar(name)));
                write(text, value, depth + 1);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                // The first entry of an item is on the line of its dash.
                let mut inner = String::new();
                write(&mut inner, item, depth + 1);
                text.push_str(&format!("\n{indent}- {}", inner.trim_start()));
            }
        }
        Value::String(string) => text.push_str(&format!(" {}", scalar(string))),
        single => text.push_str(&format!(" {single}")),
    }
    if depth == 0 {
        text.push('\n');
    }
}

/// Returns a string as YAML: plain if no reader can take it for anything else, or else in quotes as
/// in JSON, which YAML has too.
fn scalar(string: &str) -> String {
    let is_word =
        |character: char| character.is_ascii_alphanumeric() || "_-./ ".contains(character);
    let begins = string.starts_with(|first: char| first.is_ascii_alphabetic());
    let ends = !string.ends_with(' ');
    // Words that older readers take for null, booleans or numbers.
    let is_other = [
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan",
    ]
    .contains(&string.to_ascii_lowercase().as_str());
    if begins && ends && !is_other && string.chars().all(is_word) {
        string.to_owned()
    } else {
        Value::from(string).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_yaml_reads_them() {
        let value = json!({
            "name": "web",
            "yes": "no",
            "port": 80,
            "list": [{"a": 1, "b": [2, "3"]}, []],
            "empty": {},
            "text": "a: b\n# c",
            "none": null
        });
        assert_eq!(
            document(&value),
            "name: web\n\"yes\": \"no\"\nport: 80\nlist:\n  - a: 1\n    b:\n      - 2\n      - \"3\"\n  - []\nempty: {}\ntext: \"a: b\\n# c\"\nnone: null\n"
        );
        assert_eq!(document(&json!("x")), "x\n");
        assert_eq!(document(&json!([1])), "- 1\n");
    }
}
