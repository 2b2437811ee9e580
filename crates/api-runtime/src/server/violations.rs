//! Everything that is wrong with a JSON body, each with its pointer. Read only when the fast way has failed.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::Schemas;

/// A pointer and what is wrong there.
type Found = (String, String);

/// All violations of a body: it is no JSON, or keys are given twice, or its schema refuses it.
pub(super) fn of_json(bytes: &[u8], schemas: &Schemas, schema: Option<&str>) -> Vec<Found> {
    let duplicates = RefCell::new(Vec::new());
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let seed = Collect { pointer: "", duplicates: &duplicates };
    let value = match seed.deserialize(&mut json).and_then(|value| json.end().map(|()| value)) {
        Ok(value) => value,
        Err(error) => return vec![(String::new(), format!("is not JSON: {error}"))],
    };
    let mut found = duplicates.into_inner();
    if let Some(pointer) = schema
        && let Err(violations) = schemas.validate(pointer, &value)
    {
        found.extend(violations.into_iter().map(|violation| (violation.pointer, violation.message)));
    }
    found
}

/// Reads a value and notes keys that are given twice; the last one stays.
struct Collect<'c> {
    pointer: &'c str,
    duplicates: &'c RefCell<Vec<Found>>,
}

impl Collect<'_> {
    fn inside(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1"))
    }
}

impl<'de> DeserializeSeed<'de> for Collect<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
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
            let pointer = self.inside(&list.len().to_string());
            let seed = Collect { pointer: &pointer, duplicates: self.duplicates };
            let Some(item) = items.next_element_seed(seed)? else {
                return Ok(Value::Array(list));
            };
            list.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let pointer = self.inside(&key);
            let value = entries.next_value_seed(Collect { pointer: &pointer, duplicates: self.duplicates })?;
            if object.insert(key, value).is_some() {
                self.duplicates.borrow_mut().push((pointer, "must be given once".to_owned()));
            }
        }
        Ok(Value::Object(object))
    }
}
