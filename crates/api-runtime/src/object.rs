//! Decoding of the properties of an object, as expansions of the `Object` derive call it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use crate::mode::is_lenient;
use crate::place;
use crate::wire::{Seed, duplicate, keep, shown, twice};

/// The name of a property of the object that is decoded: one that the schema declares, or another.
pub enum Key {
    /// The index of a property that the schema declares.
    Known(usize),
    /// The name of a property that the schema does not declare.
    Unknown(String),
}

/// A serde seed that reads the name of a property. The function returns the index of a declared
/// name, and `None` for another.
///
/// A function and not a list of names: the derive's `match` on strings compiles to fewer
/// comparisons than a search.
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
        f.write_str("a property name")
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
        Ok((self.0)(name).map_or_else(|| Key::Unknown(name.to_owned()), Key::Known))
    }
}

/// Reads the value of a property into `slot`.
///
/// # Errors
///
/// If the object has had the property before, or the value does not fit.
#[inline]
pub fn fill<'de, T: crate::Wire, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        place::step(name);
        return Err(twice(name));
    }
    let value = map.next_value_seed(Seed::new());
    *slot = Some(value.inspect_err(|_| place::step(name))?);
    Ok(())
}

/// Reads an additional property into `others`.
///
/// # Errors
///
/// If the object has had the property before, or the value does not fit.
pub fn add<'de, T: crate::Wire, A: MapAccess<'de>>(
    others: &mut BTreeMap<String, T>,
    name: String,
    map: &mut A,
) -> Result<(), A::Error> {
    let value = value_of(&name, map)?;
    keep(others, name, value)
}

/// Reads the value of a property that the schema does not declare, or of a key of a map.
#[inline]
pub(crate) fn value_of<'de, T: crate::Wire, A: MapAccess<'de>>(
    name: &str,
    map: &mut A,
) -> Result<T, A::Error> {
    map.next_value_seed(Seed::new())
        .inspect_err(|_| place::key(name))
}

/// Reads and drops the value of a property that the schema does not declare.
///
/// # Errors
///
/// If the object is `closed` and decoding is strict, or if the object has had the property before.
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
    // Not `IgnoredAny`, which accepts duplicate properties inside the dropped value.
    value_of::<Value, A>(&name, map)?;
    seen.insert(name);
    Ok(())
}

/// Checks the number of an object's properties against `minProperties` and `maxProperties`.
pub fn count<E: Error>(
    properties: usize,
    least: Option<usize>,
    most: Option<usize>,
) -> Result<(), E> {
    crate::constraint::entries(properties, least, most).map_err(E::custom)
}

/// Checks an entry of `dependentRequired`: an object with property `name` must have each property
/// of `needed`.
pub fn depends<E: Error>(has: &dyn Fn(&str) -> bool, name: &str, needed: &[&str]) -> Result<(), E> {
    match needed.iter().find(|needed| has(name) && !has(needed)) {
        Some(missing) => Err(E::custom(format_args!(
            "property `{name}` requires property `{missing}`"
        ))),
        None => Ok(()),
    }
}
