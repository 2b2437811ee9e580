//! [`Wire`]: decoding and encoding of values as JSON Schema means them.
//!
//! The impls that serde has for types of the standard library differ from JSON Schema: they reject `16.0` as an integer, read a struct from
//! an array, and accept an object that has a property twice if the type does not read the property.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Number, Value};

use crate::ConstraintError;
use crate::place;

/// A type that is decoded from JSON and encoded as JSON.
///
/// A trait of our own, because `Serialize` and `Deserialize` of numbers, lists and maps cannot be
/// changed. Where those of a type do what JSON Schema means, such as those that the derives
/// generate, it has nothing to add.
pub trait Wire: Serialize + DeserializeOwned {
    /// Decodes a value. By default, does what `Deserialize` does.
    ///
    /// # Errors
    ///
    /// If the schema of the type does not accept the value; [lenient](crate::lenient) mode accepts
    /// more.
    #[inline]
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }

    /// Encodes the value. By default, does what `Serialize` does.
    ///
    /// # Errors
    ///
    /// If JSON cannot hold the value, such as an infinite number.
    #[inline]
    fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

/// Decodes a [`Wire`] type where serde expects a seed.
pub struct Seed<T>(PhantomData<T>);

impl<T> Seed<T> {
    /// Creates a seed.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Seed<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'de, T: Wire> DeserializeSeed<'de> for Seed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::decode(deserializer)
    }
}

/// Encodes a [`Wire`] type where serde expects `Serialize`.
pub struct Encoded<'a, T>(pub &'a T);

impl<T: Wire> Serialize for Encoded<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.encode(serializer)
    }
}

impl Wire for bool {
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(deserializer)
    }

    fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }
}

macro_rules! integer {
    ($($integer:ty, $ask:ident, $write:ident, $words:literal;)*) => {
        $(
            impl Wire for $integer {
                fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    struct Integer;
                    impl Visitor<'_> for Integer {
                        type Value = $integer;

                        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                            f.write_str($words)
                        }

                        fn visit_u64<E: Error>(self, value: u64) -> Result<$integer, E> {
                            value.try_into().map_err(|_| E::custom(concat!("must be ", $words)))
                        }

                        fn visit_i64<E: Error>(self, value: i64) -> Result<$integer, E> {
                            value.try_into().map_err(|_| E::custom(concat!("must be ", $words)))
                        }

                        #[expect(clippy::cast_possible_truncation, reason = "only whole numbers in range arrive here")]
                        fn visit_f64<E: Error>(self, value: f64) -> Result<$integer, E> {
                            // `serde_json` reads `16.0` and `1e3` as floats; for JSON Schema both
                            // are integers. Beyond this range the cast would saturate to another
                            // number.
                            let whole = value.fract() == 0.0 && (-1.7e38..1.7e38).contains(&value);
                            whole
                                .then_some(value as i128)
                                .and_then(|value| value.try_into().ok())
                                .ok_or_else(|| E::custom(concat!("must be ", $words)))
                        }
                    }
                    deserializer.$ask(Integer)
                }

                fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.$write(*self)
                }
            }
        )*
    };
}

integer! {
    i8, deserialize_i8, serialize_i8, "an integer of 8 bits";
    i16, deserialize_i16, serialize_i16, "an integer of 16 bits";
    i32, deserialize_i32, serialize_i32, "an integer of 32 bits";
    i64, deserialize_i64, serialize_i64, "an integer of 64 bits";
    u8, deserialize_u8, serialize_u8, "a non-negative integer of 8 bits";
    u16, deserialize_u16, serialize_u16, "a non-negative integer of 16 bits";
    u32, deserialize_u32, serialize_u32, "a non-negative integer of 32 bits";
    u64, deserialize_u64, serialize_u64, "a non-negative integer of 64 bits";
}

macro_rules! float {
    ($($float:ty, $ask:ident, $write:ident;)*) => {
        $(
            impl Wire for $float {
                fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    // Decoding a number beyond the range of the type gives infinity.
                    let value: $float = serde::Deserialize::deserialize(deserializer)?;
                    if value.is_finite() {
                        Ok(value)
                    } else {
                        Err(D::Error::custom("must be a finite number in range"))
                    }
                }

                // `serde_json` would write `null` for an infinite number, which the schema does not
                // accept.
                fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    if self.is_finite() {
                        serializer.$write(*self)
                    } else {
                        Err(serde::ser::Error::custom("must be a finite number"))
                    }
                }
            }
        )*
    };
}

float! {
    f32, deserialize_f32, serialize_f32;
    f64, deserialize_f64, serialize_f64;
}

impl Wire for String {
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(deserializer)
    }

    fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

macro_rules! parsed {
    ($($parsed:ty, $words:literal;)*) => {
        $(
            impl Wire for $parsed {
                fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    struct Text;
                    impl Visitor<'_> for Text {
                        type Value = $parsed;

                        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                            f.write_str($words)
                        }

                        fn visit_str<E: Error>(self, text: &str) -> Result<$parsed, E> {
                            text.parse().map_err(|_| E::custom(concat!("must be ", $words)))
                        }
                    }
                    deserializer.deserialize_str(Text)
                }

                fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }
        )*
    };
}

parsed! {
    Ipv4Addr, "an IPv4 address";
    Ipv6Addr, "an IPv6 address";
}

impl<T: Wire> Wire for Box<T> {
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::decode(deserializer).map(Box::new)
    }

    fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).encode(serializer)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Nullable<T>(PhantomData<T>);
        impl<'de, T: Wire> Visitor<'de> for Nullable<T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("null or a value")
            }

            fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_some<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Option<T>, D::Error> {
                T::decode(deserializer).map(Some)
            }
        }
        deserializer.deserialize_option(Nullable(PhantomData))
    }

    fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&Encoded(value)),
            None => serializer.serialize_none(),
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        list_of_at_most(deserializer, None)
    }

    fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for item in self {
            list.serialize_element(&Encoded(item))?;
        }
        list.end()
    }
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        map_of_at_most(deserializer, None)
    }

    fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, &Encoded(value))?;
        }
        map.end()
    }
}

/// Decodes a list of at most `most` items. What comes after one item more is not read.
///
/// # Errors
///
/// If the list has more items, or one of them does not fit.
pub fn list_of_at_most<'de, T: Wire, D: Deserializer<'de>>(
    deserializer: D,
    most: Option<usize>,
) -> Result<Vec<T>, D::Error> {
    struct List<T>(Option<usize>, PhantomData<T>);
    impl<'de, T: Wire> Visitor<'de> for List<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            // Bounded: the hint comes from the peer, and a false one must not reserve memory.
            let mut list = Vec::with_capacity(items.size_hint().unwrap_or(0).min(4096));
            while let Some(item) = items
                .next_element_seed(Seed::new())
                .inspect_err(|_| place::step(list.len()))?
            {
                if let Some(most) = self.0.filter(|most| list.len() >= *most) {
                    return Err(A::Error::custom(ConstraintError::MaxItems(most)));
                }
                list.push(item);
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(List(most, PhantomData))
}

/// Decodes a map of at most `most` entries. What comes after one entry more is not read.
///
/// # Errors
///
/// If the map has more entries, has a key twice, or a value does not fit.
pub fn map_of_at_most<'de, T: Wire, D: Deserializer<'de>>(
    deserializer: D,
    most: Option<usize>,
) -> Result<BTreeMap<String, T>, D::Error> {
    struct Entries<T>(Option<usize>, PhantomData<T>);
    impl<'de, T: Wire> Visitor<'de> for Entries<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(
            self,
            mut entries: A,
        ) -> Result<BTreeMap<String, T>, A::Error> {
            let mut map = BTreeMap::new();
            while let Some(key) = entries.next_key::<String>()? {
                let value = value_of(&key, &mut entries)?;
                keep(&mut map, key, value)?;
                if let Some(most) = self.0.filter(|most| map.len() > *most) {
                    return Err(A::Error::custom(ConstraintError::MaxProperties(most)));
                }
            }
            Ok(map)
        }
    }
    deserializer.deserialize_map(Entries(most, PhantomData))
}

/// Adds an entry to a map.
///
/// # Errors
///
/// If the map has the key already.
pub fn keep<T, E: Error>(map: &mut BTreeMap<String, T>, key: String, value: T) -> Result<(), E> {
    // Before `insert`, which takes the key that the message names.
    if map.contains_key(&key) {
        return Err(duplicate(&key));
    }
    map.insert(key, value);
    Ok(())
}

/// Reads the value of a property that the schema does not declare, or of a key of a map.
#[inline]
pub(crate) fn value_of<'de, T: Wire, A: MapAccess<'de>>(
    name: &str,
    map: &mut A,
) -> Result<T, A::Error> {
    map.next_value_seed(Seed::new())
        .inspect_err(|_| place::key(name))
}

/// Decodes any JSON. Unlike serde's own impl it rejects an object that has a property twice.
impl Wire for Value {
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }

    fn encode<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

/// The visitor that decodes any JSON.
struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("must be a finite number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::decode(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items
            .next_element_seed(Seed::new())
            .inspect_err(|_| place::step(list.len()))?
        {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = value_of(&key, &mut entries)?;
            if map.contains_key(&key) {
                return Err(duplicate(&key));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// The maximum number of characters of a name that a message repeats.
const SHOWN: usize = 64;

/// Returns a property's name from the input for use in a message: shortened, and without control
/// characters.
pub(crate) fn shown(name: &str) -> String {
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

/// Returns the error for a property that the schema does not declare and that an object has twice.
#[must_use]
pub fn duplicate<E: Error>(key: &str) -> E {
    place::key(key);
    twice(key)
}

/// Returns the error for a property that an object has twice, without its place.
pub(crate) fn twice<E: Error>(key: &str) -> E {
    E::custom(format_args!("duplicate property `{}`", shown(key)))
}

/// Returns the error for a required property that is missing.
#[must_use]
pub fn missing<E: Error>(name: &str) -> E {
    place::step(name);
    E::custom(format_args!("missing required property `{name}`"))
}
