//! JSON values as tables for people.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Map, Value};

/// The maximum number of characters of a cell.
const MOST_CHARACTERS: usize = 200;

/// Returns a list as rows with these columns, or one object as a row for each of its properties.
pub(super) fn table(value: &Value, columns: &[String]) -> String {
    match value {
        Value::Array(items) => rows(items, columns),
        Value::Object(members) => object(members),
        Value::String(text) => visible(text),
        single => single.to_string(),
    }
}

fn rows(items: &[Value], columns: &[String]) -> String {
    let all: Vec<String>;
    let columns = if columns.is_empty() {
        let first = items.first().and_then(Value::as_object);
        all = first
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        &all
    } else {
        columns
    };
    if columns.is_empty() {
        let lines: Vec<String> = items.iter().map(cell).collect();
        return lines.join("\n");
    }
    let mut table = plain();
    table.set_header(columns.iter().map(|name| visible(&name.to_uppercase())));
    for item in items {
        table.add_row(
            columns
                .iter()
                .map(|name| item.get(name).map_or(String::new(), cell)),
        );
    }
    written(table)
}

fn object(members: &Map<String, Value>) -> String {
    let mut table = plain();
    for (name, value) in members {
        table.add_row([visible(name), cell(value)]);
    }
    written(table)
}

/// Returns a table as text, with two blanks between columns.
fn written(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

fn plain() -> Table {
    let mut table = Table::new();
    // Rows are lines also where the terminal is narrower, so that other programs can read them.
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// Returns a value in one line: a text as it is, several values as JSON.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => visible(text),
        other => visible(&other.to_string()),
    };
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns a text of the API as one line that cannot control a terminal: without control characters,
/// and without those that change the direction of text.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let deceives = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character.is_control() || deceives {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}
