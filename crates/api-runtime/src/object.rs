//! Reading the properties of an object: what the `Object` derive leans on.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use crate::mode::is_lenient;
use crate::wire::{Seed, duplicate, shown};

/// A property's name: which of the known ones it is, or an unknown one.
pub enum Key {
    /// Index into the names.
    Known(usize),
    /// Any other.
    Unknown(String),
}

/// Reads a property's name, with what knows the index of each.
#[derive(Clone, Copy)]
pub struct Keys<F>(pub F);

impl<'de, F: Fn(&str) -> Option<usize>> DeserializeSeed<'de> for Keys<F> {
    type Value = Key;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<F: Fn(&str) -> Option<usize>> Visitor<'_> for Keys<F> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property's name")
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
        Ok((self.0)(name).map_or_else(|| Key::Unknown(name.to_owned()), Key::Known))
    }
}

/// Reads a property's value into its place, once.
#[inline]
pub fn fill<'de, T: crate::Wire, A: MapAccess<'de>>(
    place: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if place.is_some() {
        return Err(duplicate(name));
    }
    *place = Some(map.next_value_seed(Seed::new())?);
    Ok(())
}

/// Skips an unknown property; a closed object refuses it, unless answers are being read.
pub fn skip<'de, A: MapAccess<'de>>(
    map: &mut A,
    seen: &mut BTreeSet<String>,
    name: String,
    closed: bool,
) -> Result<(), A::Error> {
    if closed && !is_lenient() {
        return Err(A::Error::custom(format_args!(
            "unknown property `{}`",
            shown(&name)
        )));
    }
    if seen.contains(&name) {
        return Err(duplicate(&name));
    }
    // Read like any other value, since a duplicate key is refused wherever it stands.
    map.next_value_seed(Seed::<Value>::new())?;
    seen.insert(name);
    Ok(())
}

/// Checks the number of properties.
pub fn count<E: Error>(
    properties: usize,
    least: Option<usize>,
    most: Option<usize>,
) -> Result<(), E> {
    if least.is_some_and(|least| properties < least) {
        return Err(E::custom(format_args!(
            "must have at least {} properties",
            least.unwrap_or_default()
        )));
    }
    if most.is_some_and(|most| properties > most) {
        return Err(E::custom(format_args!(
            "must have at most {} properties",
            most.unwrap_or_default()
        )));
    }
    Ok(())
}

/// Checks `dependentRequired`: whoever has `name` needs each of `needed`.
pub fn depends<E: Error>(has: &dyn Fn(&str) -> bool, name: &str, needed: &[&str]) -> Result<(), E> {
    match needed.iter().find(|needed| has(name) && !has(needed)) {
        Some(missing) => Err(E::custom(format_args!(
            "property `{name}` needs property `{missing}`"
        ))),
        None => Ok(()),
    }
}
