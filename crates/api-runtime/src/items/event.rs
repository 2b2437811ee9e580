//! Server-sent events as items, as OpenAPI 3.2 models them: objects with `event`, `data`, `id` and
//! `retry`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::{Map, Value};

use crate::Wire;
use crate::json_text::JsonText;
use crate::wire::Encoded;

/// A server-sent event whose data is JSON of the contract: a value of `T`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypedEvent<T> {
    /// The type of the event; `message` if it is absent.
    pub event: Option<String>,
    /// The data.
    pub data: T,
    /// The id of the event.
    pub id: Option<String>,
    /// The time to wait before connecting again, in milliseconds.
    pub retry: Option<u64>,
}

impl<T> TypedEvent<T> {
    /// Creates an event that has only data.
    pub fn new(data: T) -> Self {
        Self {
            event: None,
            data,
            id: None,
            retry: None,
        }
    }

    /// Sets the type of the event.
    #[must_use]
    pub fn with_event(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// Sets the id of the event.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

impl<T> From<T> for TypedEvent<T> {
    fn from(data: T) -> Self {
        Self::new(data)
    }
}

impl<T: fmt::Debug> fmt::Debug for TypedEvent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedEvent")
            .field("event", &self.event)
            .field("data", &self.data)
            .field("id", &self.id)
            .field("retry", &self.retry)
            .finish()
    }
}

impl<'de, T: Wire> Deserialize<'de> for TypedEvent<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut event: Map<String, Value> = Map::deserialize(deserializer)?;
        let mut text = |key: &str| match event.remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let data = text("data").ok_or_else(|| D::Error::missing_field("data"))?;
        let (name, id) = (text("event"), text("id"));
        let data = JsonText::decode(Value::String(data)).map_err(D::Error::custom)?;
        Ok(Self {
            event: name,
            data: data.into_inner(),
            id,
            retry: event.get("retry").and_then(Value::as_u64),
        })
    }
}

impl<T: Wire> Serialize for TypedEvent<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data =
            serde_json::to_string(&Encoded(&self.data)).map_err(serde::ser::Error::custom)?;
        let mut event = serializer.serialize_struct("TypedEvent", 4)?;
        event.serialize_field("event", &self.event)?;
        event.serialize_field("data", &data)?;
        event.serialize_field("id", &self.id)?;
        event.serialize_field("retry", &self.retry)?;
        event.end()
    }
}

impl<T: Wire> Wire for TypedEvent<T> {}

/// Returns an event as an object with the fields that it has, or `None` if it has no data, so that
/// the standard drops it.
pub(super) fn read(frame: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(frame);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut event = Map::new();
    let mut data: Option<String> = None;
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            },
            // The standard ignores an id with a null character, which no header could send back.
            "event" => drop(event.insert(name.to_owned(), value.into())),
            "id" if !value.contains('\0') => drop(event.insert(name.to_owned(), value.into())),
            "retry" => {
                let digits = value.bytes().all(|byte| byte.is_ascii_digit());
                if let Some(time) = value.parse::<u64>().ok().filter(|_| digits) {
                    event.insert(name.to_owned(), time.into());
                }
            }
            _ => {}
        }
    }
    event.insert("data".to_owned(), data?.into());
    Some(Value::Object(event))
}

/// Writes the fields of an event, each line of its data as a field of its own.
///
/// # Errors
///
/// If the item is not an object with strings as `event`, `data` and `id`, and a number as `retry`.
pub(super) fn write(item: &Value, into: &mut Vec<u8>) -> serde_json::Result<()> {
    let wrong = || {
        <serde_json::Error as serde::de::Error>::custom("must be an event, with `data` as a string")
    };
    let item = item.as_object().ok_or_else(wrong)?;
    for name in ["event", "id", "retry", "data"] {
        let text = match item.get(name) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if name != "retry" => text.clone(),
            Some(Value::Number(number)) if name == "retry" => number.to_string(),
            Some(_) => return Err(wrong()),
        };
        if name == "data" {
            for line in text.replace("\r\n", "\n").split(['\r', '\n']) {
                into.extend_from_slice(format!("data: {line}\n").as_bytes());
            }
        } else {
            // A line break would end the field.
            let line = text.replace(['\r', '\n', '\0'], "");
            into.extend_from_slice(format!("{name}: {line}\n").as_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let event = TypedEvent::new(vec!["a\nb".to_owned()])
            .with_event("tick\nid: 9")
            .with_id("7");
        let mut bytes = Vec::new();
        let value = serde_json::to_value(Encoded(&event)).expect("an event is JSON");
        write(&value, &mut bytes).expect("an event is written");
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            "event: tickid: 9\nid: 7\ndata: [\"a\\nb\"]\n"
        );
        let read = read(&bytes).expect("the event has data");
        let read: TypedEvent<Vec<String>> = Wire::decode(read).expect("the event fits");
        assert_eq!(read.data, event.data);
        assert_eq!(read.id, event.id);
        assert_eq!(super::read(b"event: idle\n"), None);
    }
}
