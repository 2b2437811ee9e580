//! What a call returns, as the output.

use std::io::{self, IsTerminal as _, Write};

use futures_util::TryStreamExt as _;
use http::{HeaderMap, StatusCode};
use jsonpath_rust::JsonPath as _;
use serde_json::Value;

use super::call;
use super::failure::Failure;
use super::settings::Settings;
use super::{secrets, table, yaml};
use crate::client::{ByteStream, Event, EventStream, ResponseValue};
use crate::items::{Framing, ItemStream};

/// The maximum number of characters of a JSONPath.
const MOST_CHARACTERS: usize = 10_000;

/// Checks the settings of the output, before anything is sent.
pub(super) fn check(settings: &Settings<'_>) -> Result<(), Failure> {
    format(settings)?;
    let Some(query) = settings.sources.flag("query") else {
        return Ok(());
    };
    if query.chars().count() > MOST_CHARACTERS {
        let problem = format!("--query has more than {MOST_CHARACTERS} characters");
        return Err(Failure::usage(problem));
    }
    jsonpath_rust::parser::parse_json_path(query)
        .map(drop)
        .map_err(|error| {
            Failure::usage(format!(
                "--query is no JSONPath, such as $.items[*].name: {error}"
            ))
        })
}

/// Returns the format of the output.
pub(super) fn format(settings: &Settings<'_>) -> Result<String, Failure> {
    let known = super::command::FORMATS;
    match settings.sources.value("output")? {
        Some(format) if known.contains(&format.as_str()) => Ok(format),
        Some(_) => {
            let known = known.join(", ");
            Err(Failure::usage(format!("`output` must be one of: {known}")))
        }
        // Tables are for people. A program that reads the output gets JSON.
        None if io::stdout().is_terminal() => Ok("table".to_owned()),
        None => Ok("json".to_owned()),
    }
}

/// Prints a response.
pub(super) async fn print(
    settings: &Settings<'_>,
    reply: ResponseValue<ByteStream>,
) -> Result<(), Failure> {
    let (status, essence) = (reply.status(), essence(reply.headers()));
    if let Some(framing) = Framing::of(&essence) {
        return stream(settings, framing, reply).await;
    }
    if is_json(&essence) {
        let bytes = call::body(reply).await?;
        let decoded = serde_json::from_slice(&bytes);
        let decoded = decoded.map_err(|error| {
            Failure::other(format!("the response is not JSON, as it says ({error})"))
        })?;
        return value(settings, status, decoded);
    }
    if settings.hides_body(status) {
        return write(format!("{}\n", secrets::HIDDEN).as_bytes());
    }
    let is_text = essence.starts_with("text/");
    plain(reply, is_text).await
}

/// Returns the media type of a response, without its parameters.
pub(super) fn essence(headers: &HeaderMap) -> String {
    let media = headers.get("content-type");
    let media = media
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = media.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// Returns whether bodies of a media type are JSON.
pub(super) fn is_json(essence: &str) -> bool {
    essence.ends_with("/json") || essence.ends_with("+json")
}

/// Prints a value of JSON.
pub(super) fn value(
    settings: &Settings<'_>,
    status: StatusCode,
    mut value: Value,
) -> Result<(), Failure> {
    settings.hide(status, &mut value);
    if let Some(query) = settings.sources.flag("query") {
        let found = value.query(query);
        let found = found.map_err(|error| Failure::usage(format!("--query: {error}")))?;
        let found: Vec<Value> = found.into_iter().cloned().collect();
        return queried(settings, found);
    }
    let format = format(settings)?;
    // The table of a page would have one row, and its items in one cell.
    if format == "table"
        && let Some(paging) = &settings.operation.paging
        && let Some(items) = value.get_mut(&paging.items)
    {
        value = items.take();
    }
    let text = match format.as_str() {
        "table" => format!("{}\n", table::table(&value, &settings.operation.columns)),
        "yaml" => escaped(&yaml::document(&value)),
        "jsonl" => lines(&value),
        "text" => texts(&value),
        _ => pretty(&value),
    };
    write(text.as_bytes())
}

/// Prints what a query has found: a line for each text or number, or the values.
fn queried(settings: &Settings<'_>, found: Vec<Value>) -> Result<(), Failure> {
    let text = match format(settings)?.as_str() {
        "yaml" => escaped(&yaml::document(&Value::Array(found))),
        // What a query finds may be anything, so there are no columns.
        "table" | "text" => texts(&Value::Array(found)),
        "jsonl" => lines(&Value::Array(found)),
        _ => pretty(&Value::Array(found)),
    };
    write(text.as_bytes())
}

fn pretty(value: &Value) -> String {
    // `{:#}` of a value is JSON with white space, and cannot fail.
    escaped(&format!("{value:#}\n"))
}

/// Escapes the control characters that JSON leaves as they are, which terminals may obey. They can
/// be in strings alone, where JSON and YAML have the same escapes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // JSON may have these control characters as they are, and a terminal obeys them.
            '\u{7f}'..='\u{9f}' => escaped.push_str(&format!("\\u{:04x}", u32::from(character))),
            character => escaped.push(character),
        }
    }
    escaped
}

/// Returns each item of a list, or a single value, as a line: a text as it is, and others as JSON.
fn texts(value: &Value) -> String {
    let items = value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    let lines = items.iter().map(|item| match item {
        Value::String(text) => format!("{}\n", table::visible(text)),
        other => format!("{other}\n"),
    });
    escaped(&lines.collect::<String>())
}

/// Returns each item of a list, or a single value, as a line of JSON.
fn lines(value: &Value) -> String {
    let items = value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    let lines: String = items.iter().map(|item| format!("{item}\n")).collect();
    escaped(&lines)
}

/// Prints each item of a stream as a line of JSON, when it arrives.
async fn stream(
    settings: &Settings<'_>,
    framing: Framing,
    reply: ResponseValue<ByteStream>,
) -> Result<(), Failure> {
    let (status, body) = (reply.status(), reply.into_inner());
    let interrupted =
        |error: String| Failure::transport(format!("the stream ended early: {error}"));
    if framing == Framing::Events {
        let mut events = EventStream::new(body);
        loop {
            let event = events.try_next().await;
            match event.map_err(|error| interrupted(error.to_string()))? {
                Some(event) => line(settings, status, self::event(&event))?,
                None => return Ok(()),
            }
        }
    }
    let mut items = ItemStream::<Value, _>::new(framing, body, true);
    loop {
        let item = items.try_next().await;
        match item.map_err(|error| interrupted(error.to_string()))? {
            Some(item) => line(settings, status, item)?,
            None => return Ok(()),
        }
    }
}

/// Returns an event as JSON, with its data as JSON if they are.
pub(super) fn event(event: &Event) -> Value {
    let data = event.json::<Value>();
    let data = data.unwrap_or_else(|_| event.data.clone().into());
    serde_json::json!({"event": event.event, "id": event.id, "data": data})
}

/// Prints an item of a stream.
fn line(settings: &Settings<'_>, status: StatusCode, mut item: Value) -> Result<(), Failure> {
    settings.hide(status, &mut item);
    let Some(query) = settings.sources.flag("query") else {
        return write(escaped(&format!("{item}\n")).as_bytes());
    };
    let found = item.query(query);
    let found = found.map_err(|error| Failure::usage(format!("--query: {error}")))?;
    let lines: String = found
        .into_iter()
        .map(|value| format!("{value}\n"))
        .collect();
    write(escaped(&lines).as_bytes())
}

/// Prints a body that is no JSON. On a terminal, bytes that are no text could do anything.
async fn plain(reply: ResponseValue<ByteStream>, is_text: bool) -> Result<(), Failure> {
    // A file or a program gets the bytes as they are: only a terminal obeys control characters.
    if !io::stdout().is_terminal() {
        return copy(reply.into_inner(), &mut io::stdout()).await;
    }
    let bytes = call::body(reply).await?;
    match std::str::from_utf8(&bytes) {
        Ok(text) if is_text || text.is_empty() => {
            let lines: String = text
                .lines()
                .map(|line| table::visible(line) + "\n")
                .collect();
            write(lines.as_bytes())
        }
        _ => Err(Failure::usage(format!(
            "the response is {} bytes that are no text: write them into a file with --save FILE",
            bytes.len()
        ))),
    }
}

/// Copies a body piece by piece, so that its size does not matter.
pub(super) async fn copy(mut body: ByteStream, to: &mut dyn Write) -> Result<(), Failure> {
    loop {
        let piece = body
            .try_next()
            .await
            .map_err(|error| Failure::transport(format!("the response ended early: {error}")))?;
        let Some(piece) = piece else {
            return to.flush().map_err(|error| Failure::output(&error));
        };
        to.write_all(&piece)
            .map_err(|error| Failure::output(&error))?;
    }
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let written = output.write_all(bytes).and_then(|()| output.flush());
    written.map_err(|error| Failure::output(&error))
}
