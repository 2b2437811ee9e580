//! Visitors of nullable values, lists and maps.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::Expected;

/// Reads null, or a value of the form.
pub(super) struct Nullable(pub(super) Expected);

impl<'de> Visitor<'de> for Nullable {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null or a value")
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.0.deserialize(deserializer)
    }
}

/// Reads a list of values of the form.
pub(super) struct List(pub(super) Expected);

impl<'de> Visitor<'de> for List {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.0)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
}

/// Reads a map to values of the form.
pub(super) struct Entries(pub(super) Expected);

impl<'de> Visitor<'de> for Entries {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self.0)?;
            if map.contains_key(&name) {
                return Err(duplicate(&name));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

/// Returns the error for a property that an object has twice.
pub(super) fn duplicate<E: Error>(name: &str) -> E {
    E::custom(format_args!("duplicate property `{}`", shown(name)))
}

/// Returns a name of the request for a message: at most 64 characters, none of them a control
/// character.
pub(super) fn shown(name: &str) -> String {
    const SHOWN: usize = 64;
    let mut shown: String = name
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if name.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
