//! [`JsonText`]: a string that holds the JSON of a value, as the data of an event does.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};

use crate::wire::Encoded;
use crate::{Described, Wire};

/// A string that holds the JSON of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText<T>(T);

impl<T> JsonText<T> {
    /// Returns the value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<'de, T: Wire> Deserialize<'de> for JsonText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::decode(deserializer)?;
        let mut inner = serde_json::Deserializer::from_str(&text);
        let value = T::decode(&mut inner).and_then(|value| inner.end().map(|()| value));
        value.map(Self).map_err(D::Error::custom)
    }
}

impl<T: Wire> Serialize for JsonText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(&self.0, serializer)
    }
}

impl<T: Wire> Wire for JsonText<T> {}

impl<T: Described> Described for JsonText<T> {
    fn schema() -> Value {
        json!({"type": "string", "contentSchema": T::reference()})
    }

    fn collect_inner(into: &mut std::collections::BTreeMap<String, Value>) {
        T::collect(into);
    }
}

/// Writes a value as the text of its JSON.
fn write<S: Serializer, T: Wire>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let text = serde_json::to_string(&Encoded(value)).map_err(S::Error::custom)?;
    serializer.serialize_str(&text)
}

/// Writes as the text of its JSON, where serde expects `Serialize`.
struct Text<'a, T>(&'a T);

impl<T: Wire> Serialize for Text<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self.0, serializer)
    }
}

/// Writes a property whose string holds the JSON of a value.
///
/// # Errors
///
/// If JSON cannot hold the value.
pub fn json_text_entry<S: Serializer, T: Wire>(
    map: &mut S::SerializeMap,
    name: &'static str,
    value: &T,
) -> Result<(), S::Error> {
    map.serialize_entry(name, &Text(value))
}

/// Writes an optional property whose string holds the JSON of a value, unless it is absent.
///
/// # Errors
///
/// If JSON cannot hold the value.
pub fn optional_json_text_entry<S: Serializer, T: Wire>(
    map: &mut S::SerializeMap,
    name: &'static str,
    value: &Option<T>,
) -> Result<(), S::Error> {
    match value {
        Some(value) => map.serialize_entry(name, &Text(value)),
        None => Ok(()),
    }
}
