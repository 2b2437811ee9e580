//! How scalars are written in YAML and JSON.

use std::ops::Range;

/// Returns the part of a scalar between its quotes, or all of it if it has none.
pub(crate) fn content(source: &str) -> Range<usize> {
    let quote = source
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''));
    match quote {
        Some(quote) if source.len() > 1 && source.ends_with(quote) => 1..source.len() - 1,
        _ => 0..source.len(),
    }
}

/// Returns a text as it is written in place of the content of a scalar: with what the quotes around
/// it need, or in quotes if it would be read as something else without.
pub(crate) fn written(source: &str, new: &str) -> String {
    let is_quoted = content(source).len() < source.len();
    if is_quoted && source.starts_with('\'') {
        return new.replace('\'', "''");
    }
    let json = serde_json::Value::from(new).to_string();
    if is_quoted {
        return json[1..json.len() - 1].to_owned();
    }
    if is_plain(new) { new.to_owned() } else { json }
}

/// Returns whether a text can be written in YAML without quotes.
pub(crate) fn is_plain(text: &str) -> bool {
    let is_word = |one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '.' | '/' | ' ');
    // A digit could begin a number or a date.
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && text.chars().all(is_word)
        && !text.ends_with(' ')
        // YAML 1.1 reads these as booleans or null.
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        )
}
