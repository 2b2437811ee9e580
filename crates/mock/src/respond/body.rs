//! The body of a response: an example of the contract, or a value of its schema.

use api_runtime::server::{ByteStream, ItemBody, PartBody, Response, StatusCode};
use codegen::ir::{self, MediaKind};
use contract::model::{MediaType, SchemaId};
use http::HeaderValue;
use serde::de::DeserializeSeed as _;
use serde_json::{Value, json};

use super::{Refused, Task, hash};
use crate::bounds::MOST_RESPONSE_BYTES;
use crate::parts::Made;
use crate::types::{Expected, Shape};
use crate::values::NoValue;

/// The number of items of a sequence.
const ITEMS: usize = 3;
/// The maximum number of events that are made up for one whose data fits.
const ATTEMPTS: usize = 12;
/// What separates the parts of a multipart body. Values are made of other words.
const BOUNDARY: &str = "stratus-mock-7f3c1e";

/// Writes the body in the media type with this index.
pub(super) fn body(task: &Task<'_>, at: usize) -> Result<Response, Refused> {
    let media = &task.listed.media[at];
    let listed = task.described.choose(at);
    let example = match given(task, media, at)? {
        Some(Example::Text(text)) => {
            ensure_short(text.len())?;
            return Ok(listed.stream(ByteStream::from(text.into_bytes())));
        }
        Some(Example::Value(value)) => Some(value),
        None => None,
    };
    match media.kind {
        MediaKind::Json | MediaKind::Form | MediaKind::Text => {
            let value = match example {
                Some(value) => value,
                None => made(task, media.schema, task.seed)?,
            };
            ensure_bounded(&value)?;
            Ok(match media.kind {
                MediaKind::Json => listed.json(&value),
                MediaKind::Form => listed.form(&value),
                _ => listed.text(&value),
            })
        }
        MediaKind::Items | MediaKind::TypedEvents | MediaKind::EventStream => {
            let items = match example {
                // An example may be the whole sequence as a text.
                Some(Value::String(text)) => {
                    return Ok(listed.stream(ByteStream::from(text.into_bytes())));
                }
                Some(Value::Array(items)) => items,
                Some(item) => vec![item],
                None => items(task, media, at)?,
            };
            items.iter().try_for_each(ensure_bounded)?;
            Ok(listed.items(ItemBody::from(items)))
        }
        MediaKind::Multipart => {
            let value = match example {
                Some(value) => value,
                None => made(task, media.schema, task.seed)?,
            };
            ensure_bounded(&value)?;
            let essence = media.name.split(';').next().unwrap_or_default().trim();
            let name = format!("{essence}; boundary={BOUNDARY}");
            let mut stream = ByteStream::from(multipart(&value).into_bytes());
            if let Ok(name) = HeaderValue::from_str(&name) {
                stream = stream.with_content_type(name);
            }
            Ok(listed.stream(stream))
        }
        MediaKind::Parts | MediaKind::PartStream => {
            let values = match example {
                Some(Value::Array(values)) => values,
                Some(value) => vec![value],
                None if media.kind == MediaKind::PartStream => items(task, media, at)?,
                None => match made(task, media.schema, task.seed)? {
                    Value::Array(values) => values,
                    value => vec![value],
                },
            };
            values.iter().try_for_each(ensure_bounded)?;
            let Some(list) = &media.parts else {
                return Err(only_example(task, media, at));
            };
            let mut headers = Vec::new();
            collect_headers(task, list, &mut headers)?;
            let header = move |wanted: &ir::PartHeader| {
                let found = headers.iter().find(|(schema, _)| *schema == wanted.schema);
                found.map(|(_, value)| value.clone())
            };
            let body = Made {
                values,
                list,
                header,
            };
            Ok(if media.kind == MediaKind::Parts {
                listed.multiparts(body)
            } else {
                listed.part_stream(PartBody::from(body.parts()))
            })
        }
        MediaKind::Bytes => {
            let value = match example {
                Some(value) => value,
                None => made(task, media.schema, task.seed)?,
            };
            ensure_bounded(&value)?;
            match value {
                Value::String(text) => Ok(listed.stream(ByteStream::from(text.into_bytes()))),
                _ => Err(only_example(task, media, at)),
            }
        }
    }
}

/// An example of a body.
enum Example {
    /// The value, which is still to be written in the media type.
    Value(Value),
    /// The body as it is sent (`serializedValue`).
    Text(String),
}

/// Returns what is kept for the request, if that is the body, or else an example. Returns `None` if the
/// mock must make a value up.
fn given(
    task: &Task<'_>,
    media: &'static ir::Media,
    at: usize,
) -> Result<Option<Example>, Refused> {
    let Some((schema, value)) = &task.given else {
        return example(task, media, at);
    };
    if !task.is_of(media, *schema) {
        return example(task, media, at);
    }
    let checked = task.state.values.check(*schema, value);
    checked.map_err(|error| {
        let NoValue { pointer, why } = error;
        let message = format!("what is kept does not fit the schema at {pointer}: {why}");
        Refused(StatusCode::INTERNAL_SERVER_ERROR, message)
    })?;
    Ok(Some(Example::Value(value.clone())))
}

/// Returns the example that the caller prefers, or else the first that fits. Returns `None` if the
/// mock must make a value up.
fn example(
    task: &Task<'_>,
    media: &'static ir::Media,
    at: usize,
) -> Result<Option<Example>, Refused> {
    let Some(declared) = task.declared(at) else {
        return Ok(None);
    };
    // The boundary of a multipart body is in its header, of which an example says nothing.
    let is_multipart = matches!(
        media.kind,
        MediaKind::Multipart | MediaKind::Parts | MediaKind::PartStream
    );
    let text_of = |name: &str| declared.serialized.get(name).filter(|_| !is_multipart);
    let is_sequence = matches!(
        media.kind,
        MediaKind::Items | MediaKind::TypedEvents | MediaKind::EventStream | MediaKind::PartStream
    );
    // Of a sequence the schema is that of an item, and bytes have no form to compare.
    let schema = media
        .schema
        .filter(|_| !is_sequence && media.kind != MediaKind::Bytes);
    let check = |value: &Value| match schema {
        Some(id) => task.state.values.check(id, value),
        None => Ok(()),
    };
    // A text alone can be compared with the schema if it is JSON.
    let check_text = |text: &str| match media.kind {
        MediaKind::Json => match serde_json::from_str(text) {
            Ok(value) => check(&value),
            Err(error) => Err(NoValue {
                pointer: declared.pointer.clone(),
                why: format!("it is no JSON: {error}"),
            }),
        },
        _ => Ok(()),
    };
    let checked = |name: &str| match (declared.examples.get(name), text_of(name)) {
        (Some(value), text) => Some(check(value).map(|()| match text {
            Some(text) => Example::Text(text.clone()),
            None => Example::Value(value.clone()),
        })),
        (None, Some(text)) => Some(check_text(text).map(|()| Example::Text(text.clone()))),
        (None, None) => None,
    };
    let texts = declared.serialized.keys();
    let texts = texts.filter(|name| !declared.examples.contains_key(*name) && !is_multipart);
    let mut names = declared.examples.keys().chain(texts).map(String::as_str);
    if let Some(name) = &task.preferences.example {
        let Some(found) = checked(name) else {
            let names: Vec<&str> = names.collect();
            let message = if names.is_empty() {
                format!("`{}` has no examples", media.name)
            } else {
                format!(
                    "there is no example `{name}`: prefer one of {}",
                    names.join(", ")
                )
            };
            return Err(Refused(StatusCode::NOT_FOUND, message));
        };
        return found.map(Some).map_err(|NoValue { pointer, why }| {
            Refused(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("the example `{name}` does not fit the schema at {pointer}: {why}"),
            )
        });
    }
    if task.preferences.dynamic == Some(true) {
        return Ok(None);
    }
    Ok(names.find_map(|name| checked(name)?.ok()))
}

/// Returns a value of a schema; without one, an empty object.
fn made(task: &Task<'_>, schema: Option<SchemaId>, seed: u64) -> Result<Value, Refused> {
    let is_dynamic = task.preferences.dynamic == Some(true);
    match schema {
        Some(id) => task
            .state
            .values
            .value(id, seed, is_dynamic)
            .map_err(|error| Refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
        None => Ok(json!({})),
    }
}

/// Returns the items of a sequence.
fn items(task: &Task<'_>, media: &'static ir::Media, at: usize) -> Result<Vec<Value>, Refused> {
    let declared: Option<&MediaType> = task.declared(at);
    let schema = declared.and_then(|declared| declared.item_schema);
    (0..ITEMS)
        .map(|number| {
            let seed = hash(task.seed, &number.to_string());
            if schema.is_none() && media.kind == MediaKind::EventStream {
                return Ok(json!({"data": format!("event {number}")}));
            }
            if media.kind == MediaKind::Items && is_text(&media.name) {
                return one_of_several_events(task, media, schema, seed);
            }
            let mut item = made(task, schema, seed)?;
            // The data of an event is a text, which holds JSON of a schema of its own.
            if let Some(data) = declared.and_then(|declared| declared.event_data) {
                item["data"] = Value::String(made(task, Some(data), seed)?.to_string());
            }
            Ok(item)
        })
        .collect()
}

/// Returns whether a sequence is one of events, as the only one that is text is.
fn is_text(name: &str) -> bool {
    name.trim_start().to_ascii_lowercase().starts_with("text/")
}

/// Returns an event of several. It is decoded as well, since its schema says of data that is JSON
/// only that it is a text.
fn one_of_several_events(
    task: &Task<'_>,
    media: &'static ir::Media,
    schema: Option<SchemaId>,
    seed: u64,
) -> Result<Value, Refused> {
    let expected = Expected {
        types: task.state.types,
        shape: Shape::of(media.ty.as_ref().unwrap_or(&ir::TypeRef::Any), false),
    };
    let mut why = String::new();
    for attempt in 0..ATTEMPTS {
        let seed = match attempt {
            0 => seed,
            attempt => hash(seed, &attempt.to_string()),
        };
        let event = made(task, schema, seed)?;
        match expected.deserialize(&event) {
            Ok(_) => return Ok(event),
            Err(error) => why = error.to_string(),
        }
    }
    let message = format!(
        "no event was found whose data is what its `contentSchema` says: {why}; give `{}` an example",
        media.name
    );
    Err(Refused(StatusCode::INTERNAL_SERVER_ERROR, message))
}

/// Makes up the values of the headers that parts must have.
fn collect_headers(
    task: &Task<'_>,
    list: &ir::PartList,
    headers: &mut Vec<(SchemaId, String)>,
) -> Result<(), Refused> {
    for part in list.prefix.iter().chain([&*list.item]) {
        for header in part.headers.iter().filter(|header| header.is_required) {
            if header.is_forbidden || header.value.is_some() {
                continue;
            }
            let value = made(task, Some(header.schema), task.seed)?;
            let text = match value {
                Value::String(text) if !header.is_json => text,
                other => other.to_string(),
            };
            headers.push((header.schema, text));
        }
        if let ir::PartContent::Parts(nested) = &part.content {
            collect_headers(task, nested, headers)?;
        }
    }
    Ok(())
}

/// Writes the properties of an object as the parts of a form.
fn multipart(value: &Value) -> String {
    let mut text = String::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let name = name
            .replace('"', "%22")
            .replace('\r', "%0D")
            .replace('\n', "%0A");
        let (media, content) = match value {
            Value::String(content) => ("text/plain; charset=utf-8", content.clone()),
            other => ("application/json", other.to_string()),
        };
        text.push_str(&format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\nContent-Type: {media}\r\n\r\n{content}\r\n"
        ));
    }
    text.push_str(&format!("--{BOUNDARY}--\r\n"));
    text
}

/// Checks that a value is within the bound of a response.
fn ensure_bounded(value: &Value) -> Result<(), Refused> {
    ensure_short(serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len()))
}

/// Checks that so many bytes are within the bound of a response.
fn ensure_short(size: usize) -> Result<(), Refused> {
    if size <= MOST_RESPONSE_BYTES {
        return Ok(());
    }
    Err(Refused(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("the response has {size} bytes, more than the {MOST_RESPONSE_BYTES} of a mock"),
    ))
}

fn only_example(task: &Task<'_>, media: &'static ir::Media, at: usize) -> Refused {
    let name = &media.name;
    // Most media types of bytes have no schema, and then the place of the media type itself is named.
    let place = match media.schema {
        Some(id) => format!("its schema at {}", task.state.values.pointer(id)),
        None => task
            .declared(at)
            .map_or_else(|| "the contract".to_owned(), |it| it.pointer.clone()),
    };
    Refused(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("`{name}` can only be sent as an example: {place} says nothing about its bytes"),
    )
}
