//! The violations of a JSON body, each with its pointer. The body is read again for them only after
//! it was not accepted.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::busy;
use crate::Schemas;
use crate::schemas::MOST_VIOLATIONS;

/// The size up to which a body is read for its violations without waiting for a turn. It takes about
/// as long as to handle a request.
const SMALL: usize = 16 << 10;
/// The turn of larger bodies. One of them at a time is read, on a thread that may block, so that many
/// cannot keep the threads that handle requests, nor more than one processor.
static LARGE: Semaphore = Semaphore::const_new(1);
/// How long a larger body waits for its turn. After that its violations are not named: while it
/// waits, it counts towards the bytes of bodies that a server may hold.
const MOST_WAIT: Duration = Duration::from_secs(1);

/// How many values are read or dropped between two calls of [`busy::call`].
const EVERY: usize = 1024;

/// A violation: the pointer to the value, and the message about it.
type Found = (String, String);

/// The position of a value in the body, as a chain of its parents. Its pointer is written only when
/// a violation is reported.
enum Place<'p> {
    Root,
    Property(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl Place<'_> {
    fn pointer(&self) -> String {
        match self {
            Place::Root => String::new(),
            Place::Property(parent, key) => {
                format!(
                    "{}/{}",
                    parent.pointer(),
                    crate::pointer::escape(&crate::wire::shown(key))
                )
            }
            Place::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// Returns the violations of a body as [`of_json`] does, in its turn if it is large. Returns none if its
/// turn does not come within [`MOST_WAIT`].
pub(super) async fn of_body(
    bytes: Bytes,
    schemas: &'static Schemas,
    schema: Option<&'static str>,
) -> Vec<Found> {
    // Without a runtime there are no other requests.
    if bytes.len() <= SMALL || Handle::try_current().is_err() {
        return of_json(&bytes, schemas, schema);
    }
    let Ok(turn) = timeout(MOST_WAIT, LARGE.acquire()).await else {
        return Vec::new();
    };
    let reading = tokio::task::spawn_blocking(move || {
        // Until the end, also if the caller goes away before.
        let _turn = turn;
        of_json(&bytes, schemas, schema)
    });
    match reading.await {
        Ok(found) => found,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Vec::new(),
        },
    }
}

/// Returns the violations of a body that is not JSON, has a key twice or does not fit the schema
/// with the pointer `schema`. Where there are more than a hundred, the last entry says so.
fn of_json(bytes: &[u8], schemas: &Schemas, schema: Option<&str>) -> Vec<Found> {
    let reading = Reading::default();
    // Not by `Wire` of `Value`, which ends at the first duplicate key.
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let seed = Collect {
        place: &Place::Root,
        reading: &reading,
    };
    let value = match seed
        .deserialize(&mut json)
        .and_then(|value| json.end().map(|()| value))
    {
        Ok(value) => value,
        Err(error) => return vec![(String::new(), format!("is not JSON: {error}"))],
    };
    let mut found = reading.duplicates.take();
    if let Some(pointer) = schema
        && let Err(violations) = schemas.validate(pointer, &value)
    {
        found.extend(
            violations
                .into_iter()
                .map(|violation| (violation.pointer, violation.message)),
        );
    }
    drop_in_parts(value, &reading);
    if found.len() > MOST_VIOLATIONS {
        found.truncate(MOST_VIOLATIONS);
        let more = crate::Violation::more();
        found.push((more.pointer, more.message));
    }
    found
}

/// Drops a value as [`drop`] does, but calls [`busy::call`] now and then.
fn drop_in_parts(value: Value, reading: &Reading) {
    reading.count();
    match value {
        Value::Array(items) => items
            .into_iter()
            .for_each(|item| drop_in_parts(item, reading)),
        Value::Object(entries) => entries
            .into_iter()
            .for_each(|(_, value)| drop_in_parts(value, reading)),
        _ => (),
    }
}

/// What the seeds of a value and of the values inside it share, so it has cells.
#[derive(Default)]
struct Reading {
    duplicates: RefCell<Vec<Found>>,
    /// The number of values so far, of those read and those dropped.
    values: Cell<usize>,
}

impl Reading {
    fn count(&self) {
        let values = self.values.get() + 1;
        self.values.set(values);
        if values.is_multiple_of(EVERY) {
            busy::call();
        }
    }
}

/// A serde seed that decodes any JSON and records duplicate keys. Of several values of a key the
/// last one stays.
struct Collect<'c> {
    place: &'c Place<'c>,
    reading: &'c Reading,
}

impl<'de> DeserializeSeed<'de> for Collect<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.reading.count();
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Collect<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let place = Place::Item(self.place, list.len());
            let seed = Collect {
                place: &place,
                reading: self.reading,
            };
            let Some(item) = items.next_element_seed(seed)? else {
                return Ok(Value::Array(list));
            };
            list.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let place = Place::Property(self.place, &key);
            let value = entries.next_value_seed(Collect {
                place: &place,
                reading: self.reading,
            })?;
            // One more than is reported, so that `of_json` sees that there are more.
            let mut duplicates = self.reading.duplicates.borrow_mut();
            if object.contains_key(&key) && duplicates.len() <= MOST_VIOLATIONS {
                duplicates.push((place.pointer(), "must be given once".to_owned()));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::super::busy::counting::calls;
    use super::*;

    #[test]
    fn a_function_is_called_while_a_long_body_is_read() {
        let schemas = Schemas::new("{}");
        // Each item is read and dropped, and so is what has them.
        for (items, expected) in [(510, 0), (511, 1), (10_000, 19)] {
            for body in [
                serde_json::json!(vec!["x"; items]),
                (0..items)
                    .map(|at| (at.to_string(), Value::from(at)))
                    .collect(),
            ] {
                let bytes = body.to_string();
                let counted = calls(|| {
                    assert!(of_json(bytes.as_bytes(), &schemas, None).is_empty());
                });
                assert_eq!(counted, expected, "{items}");
            }
        }
    }
}
