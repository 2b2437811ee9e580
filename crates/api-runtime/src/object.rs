//! Decoding and encoding of the properties of an object, as expansions of the `Object` derive call
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use crate::mode::is_lenient;
use crate::place;
use crate::wire::{Encoded, Seed, duplicate, keep, missing, shown, twice, value_of};

/// A struct whose fields are the properties of an object, as the derive `Object` implements it.
pub trait Properties: Sized {
    /// Returns the index of a property that the schema declares. Returns `None` for another name.
    fn index(name: &str) -> Option<usize>;

    /// Decodes the struct from the entries of an object.
    ///
    /// # Errors
    ///
    /// If an entry or the whole object violates the schema.
    fn read<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

/// Decodes a struct from an object.
///
/// # Errors
///
/// If the value is not an object that the schema accepts.
pub fn object<'de, T: Properties, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(Object(PhantomData))
}

/// The visitor that decodes a struct.
struct Object<T>(PhantomData<T>);

impl<'de, T: Properties> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read(map)
    }
}

/// The name of a property of the object that is decoded: one that the schema declares, or another.
enum Key {
    /// The index of a property that the schema declares.
    Known(usize),
    /// The name of a property that the schema does not declare.
    Unknown(String),
}

/// A serde seed that reads the name of a property of `T`.
struct Keys<T>(PhantomData<T>);

impl<'de, T: Properties> DeserializeSeed<'de> for Keys<T> {
    type Value = Key;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T: Properties> Visitor<'_> for Keys<T> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property name")
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
        Ok(T::index(name).map_or_else(|| Key::Unknown(name.to_owned()), Key::Known))
    }
}

/// Returns the index of the next property that the schema of `T` declares, or `None` at the end of
/// the object. Reads and drops the properties before it, and adds their names to `others`.
///
/// # Errors
///
/// If such a property is there twice, or is there at all while the object is `closed` and decoding
/// is strict.
#[inline]
pub fn next_or_skip<'de, T: Properties, A: MapAccess<'de>>(
    map: &mut A,
    others: &mut BTreeSet<String>,
    closed: bool,
) -> Result<Option<usize>, A::Error> {
    loop {
        match map.next_key_seed(Keys::<T>(PhantomData))? {
            None => return Ok(None),
            Some(Key::Known(at)) => return Ok(Some(at)),
            Some(Key::Unknown(name)) => skip(map, others, name, closed)?,
        }
    }
}

/// Returns the index of the next property that the schema of `T` declares, or `None` at the end of
/// the object. Adds the properties before it to `others`.
///
/// # Errors
///
/// If the object has had such a property before, or its value does not fit.
#[inline]
pub fn next_or_add<'de, T: Properties, A: MapAccess<'de>>(
    map: &mut A,
    others: &mut BTreeMap<String, impl crate::Wire>,
) -> Result<Option<usize>, A::Error> {
    loop {
        match map.next_key_seed(Keys::<T>(PhantomData))? {
            None => return Ok(None),
            Some(Key::Known(at)) => return Ok(Some(at)),
            Some(Key::Unknown(name)) => add(others, name, map)?,
        }
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
    // Readers of JSON differ in which of two values counts, so none does.
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
fn add<'de, T: crate::Wire, A: MapAccess<'de>>(
    others: &mut BTreeMap<String, T>,
    name: String,
    map: &mut A,
) -> Result<(), A::Error> {
    let value = value_of(&name, map)?;
    keep(others, name, value)
}

/// Reads and drops the value of a property that the schema does not declare.
///
/// # Errors
///
/// If the object is `closed` and decoding is strict, or if the object has had the property before.
fn skip<'de, A: MapAccess<'de>>(
    map: &mut A,
    seen: &mut BTreeSet<String>,
    name: String,
    closed: bool,
) -> Result<(), A::Error> {
    if closed && !is_lenient() {
        place::key(&name);
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

/// Returns the error for the first property that is missing. `required` has the name of each
/// required property, and whether the object has it.
#[cold]
#[must_use]
pub fn first_missing<E: Error>(required: &[(&'static str, bool)]) -> E {
    let first = required.iter().find(|(_, is_there)| !is_there);
    missing(first.map_or("", |(name, _)| name))
}

/// Returns the number of entries that an optional property has in its object.
#[must_use]
#[inline]
pub fn one_if_some<T>(field: &Option<T>) -> usize {
    usize::from(field.is_some())
}

/// Writes a property.
///
/// # Errors
///
/// If JSON cannot hold the value.
#[inline]
pub fn entry<S: Serializer, T: crate::Wire>(
    map: &mut S::SerializeMap,
    name: &'static str,
    value: &T,
) -> Result<(), S::Error> {
    map.serialize_entry(name, &Encoded(value))
}

/// Writes an optional property, unless it is absent.
///
/// # Errors
///
/// If JSON cannot hold the value.
#[inline]
pub fn optional_entry<S: Serializer, T: crate::Wire>(
    map: &mut S::SerializeMap,
    name: &'static str,
    value: &Option<T>,
) -> Result<(), S::Error> {
    match value {
        Some(value) => map.serialize_entry(name, &Encoded(value)),
        None => Ok(()),
    }
}

/// Writes additional properties.
///
/// # Errors
///
/// If JSON cannot hold a value.
pub fn other_entries<S: Serializer, T: crate::Wire>(
    map: &mut S::SerializeMap,
    others: &BTreeMap<String, T>,
) -> Result<(), S::Error> {
    for (name, value) in others {
        map.serialize_entry(name, &Encoded(value))?;
    }
    Ok(())
}
