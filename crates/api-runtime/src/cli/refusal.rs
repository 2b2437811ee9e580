//! An error response in words for people.

use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::table;

/// The properties that have the sentence for people, in the error bodies of most APIs, among them
/// RFC 9457.
const SENTENCES: [&str; 5] = ["message", "detail", "error_description", "title", "error"];
/// The maximum number of lines that are printed of what an error body has beside its sentence.
const MOST_LINES: usize = 40;

/// Returns the status and what the body says, and what to do if the status tells.
pub(super) fn words(status: StatusCode, headers: &HeaderMap, body: &Value) -> String {
    // Some APIs have the whole error in this property.
    let inner = body.get("error").filter(|inner| inner.is_object());
    let said = inner.unwrap_or(body).as_object();
    let sentence = said.and_then(sentence);
    let mut lines = vec![match &sentence {
        Some((_, sentence)) => format!("{status}: {}", table::visible(sentence)),
        None => format!("the API responded with {status}"),
    }];
    let skipped = sentence.map(|(name, _)| name);
    for (name, value) in said.into_iter().flatten() {
        let repeats = value.as_u64() == Some(u64::from(status.as_u16()));
        if Some(name.as_str()) != skipped && !repeats {
            add(&mut lines, 1, name, value);
        }
    }
    lines.truncate(MOST_LINES);
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(id) = header("x-request-id") {
        lines.push(format!("  request: {}", table::visible(id)));
    }
    lines.extend(advice(status, header("retry-after")));
    lines.join("\n")
}

/// Returns the name and the text of the property that has the sentence.
fn sentence(said: &Map<String, Value>) -> Option<(&'static str, &str)> {
    let mut names = SENTENCES.iter();
    names.find_map(|name| Some((*name, said.get(*name)?.as_str()?)))
}

/// Adds the lines of a property.
fn add(lines: &mut Vec<String>, depth: usize, name: &str, value: &Value) {
    let indent = "  ".repeat(depth.min(8));
    let name = table::visible(name);
    match value {
        Value::Null => {}
        Value::Object(members) => {
            lines.push(format!("{indent}{name}:"));
            for (name, value) in members.iter().take(MOST_LINES) {
                add(lines, depth + 1, name, value);
            }
        }
        Value::Array(items) => {
            for item in items.iter().take(MOST_LINES) {
                add(lines, depth, &name, item);
            }
        }
        Value::String(text) => lines.push(format!("{indent}{name}: {}", table::visible(text))),
        single => lines.push(format!("{indent}{name}: {single}")),
    }
}

/// Returns what to do about a status.
fn advice(status: StatusCode, retry_after: Option<&str>) -> Option<String> {
    Some(match (status, retry_after) {
        (StatusCode::UNAUTHORIZED, _) => {
            "check the credential: `--help` says where it comes from".to_owned()
        }
        (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, Some(after)) => {
            let after = table::visible(after);
            format!("try again later (Retry-After: {after}), or give --retries")
        }
        _ => return None,
    })
}
