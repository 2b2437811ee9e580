//! Deserializers of lists and objects that are written as text: `a,b`, `k=v&k=w`, `filter[from]=1`.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::text::{Guess, InputError, Text};

/// The maximum number of brackets that a name may have, which is also the depth to which JSON may
/// nest.
const MAX_DEPTH: usize = 128;

/// The rest of a value's name, and the value. The rest is `[from]` in `filter[from]`, and empty in
/// a plain name.
pub(super) type Leaf<'t> = (Cow<'t, str>, Cow<'t, str>);

/// The values of one name, as a deserializer of a single value, a list or an object.
pub(super) struct Tree<'t> {
    pub(super) leaves: Vec<Leaf<'t>>,
    pub(super) guess: &'t Guess,
}

/// A deserializer of an object: names in the order of their first use, each with its values.
pub(super) struct Object<'t> {
    entries: Vec<(Cow<'t, str>, Vec<Leaf<'t>>)>,
    /// The index in `entries` of each name.
    known: HashMap<Cow<'t, str>, usize>,
    guess: &'t Guess,
}

/// A deserializer of a list, from the texts of its items.
pub(super) struct List<'t> {
    pub(super) items: Vec<Cow<'t, str>>,
    pub(super) guess: &'t Guess,
}

impl<'t> Object<'t> {
    pub(super) fn new(guess: &'t Guess) -> Self {
        Self {
            entries: Vec::new(),
            known: HashMap::new(),
            guess,
        }
    }

    /// Adds a value under a name.
    pub(super) fn add(&mut self, name: Cow<'t, str>, leaf: Leaf<'t>) {
        // A search in `entries` would be quadratic in the number of names, which the caller
        // chooses.
        if let Some(at) = self.known.get(&name) {
            self.entries[*at].1.push(leaf);
        } else {
            self.known.insert(name.clone(), self.entries.len());
            self.entries.push((name, vec![leaf]));
        }
    }
}

impl<'t> Tree<'t> {
    fn single(&self) -> Result<Text<'_>, InputError> {
        match self.leaves.as_slice() {
            [(rest, text)] if rest.is_empty() => Ok(Text {
                text,
                guess: self.guess,
            }),
            [_] => Err(InputError::new("must be a single value")),
            _ => Err(InputError::new("must be given once")),
        }
    }

    fn into_list(self) -> Result<List<'t>, InputError> {
        if self.leaves.iter().any(|(rest, _)| !is_item(rest)) {
            return Err(InputError::new("must be a list"));
        }
        Ok(List {
            items: self.leaves.into_iter().map(|(_, text)| text).collect(),
            guess: self.guess,
        })
    }

    fn into_object(self) -> Result<Object<'t>, InputError> {
        let mut object = Object::new(self.guess);
        for (rest, text) in self.leaves {
            // Each bracket is a level of recursion, whose number the caller must not choose.
            if rest.matches('[').count() > MAX_DEPTH {
                return Err(InputError::new("must not nest deeper than 128 brackets"));
            }
            let Some((key, rest)) = bracketed(&rest) else {
                return Err(InputError::new(
                    "must be an object, written as `name[property]=value`",
                ));
            };
            object.add(
                Cow::Owned(key.to_owned()),
                (Cow::Owned(rest.to_owned()), text),
            );
        }
        Ok(object)
    }

    fn is_nested(&self) -> bool {
        self.leaves.iter().all(|(rest, _)| !rest.is_empty())
    }
}

/// Returns whether the rest of a name is that of an item: empty, `[]` or `[0]`.
fn is_item(rest: &str) -> bool {
    rest.is_empty()
        || bracketed(rest)
            .is_some_and(|(key, rest)| rest.is_empty() && key.bytes().all(|b| b.is_ascii_digit()))
}

/// Splits `[key]rest` into the key and the rest. Returns `None` for a string of another form.
pub(super) fn bracketed(rest: &str) -> Option<(&str, &str)> {
    rest.strip_prefix('[')?.split_once(']')
}

macro_rules! scalars {
    ($($method:ident),*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
            self.single()?.$method(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Tree<'_> {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match self.leaves.len() {
            1 if !self.is_nested() => self.single()?.deserialize_any(visitor),
            _ if self.is_nested() => self.deserialize_map(visitor),
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        self.into_list()?.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        if self.is_nested() {
            self.into_object()?.deserialize_map(visitor)
        } else {
            self.single()?.deserialize_map(visitor)
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputError> {
        visitor.visit_newtype_struct(self)
    }

    scalars! {
        deserialize_bool, deserialize_i8, deserialize_i16, deserialize_i32, deserialize_i64, deserialize_i128,
        deserialize_u8, deserialize_u16, deserialize_u32, deserialize_u64, deserialize_u128, deserialize_f32,
        deserialize_f64, deserialize_str, deserialize_string
    }

    forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier ignored_any
    }
}

impl<'de> Deserializer<'de> for List<'_> {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        let Self { items, guess } = self;
        visitor.visit_seq(Items {
            at: 0,
            texts: items.into_iter(),
            guess,
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> Deserializer<'de> for Object<'_> {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        let Self { entries, guess, .. } = self;
        visitor.visit_map(Entries {
            left: entries.into_iter(),
            value: None,
            guess,
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Items<'t> {
    at: usize,
    texts: std::vec::IntoIter<Cow<'t, str>>,
    guess: &'t Guess,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = InputError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, InputError> {
        let Some(text) = self.texts.next() else {
            return Ok(None);
        };
        let at = self.at;
        self.at += 1;
        let item = Text {
            text: &text,
            guess: self.guess,
        };
        seed.deserialize(item)
            .map(Some)
            .map_err(|error| error.inside(&at.to_string()))
    }
}

struct Entries<'t> {
    left: std::vec::IntoIter<(Cow<'t, str>, Vec<Leaf<'t>>)>,
    value: Option<(Cow<'t, str>, Vec<Leaf<'t>>)>,
    guess: &'t Guess,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = InputError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, InputError> {
        let Some((name, leaves)) = self.left.next() else {
            return Ok(None);
        };
        let key = seed.deserialize(StrDeserializer::<InputError>::new(&name))?;
        self.value = Some((name, leaves));
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, InputError> {
        let (name, leaves) = self
            .value
            .take()
            .expect("serde asks for a key before its value");
        let tree = Tree {
            leaves,
            guess: self.guess,
        };
        seed.deserialize(tree).map_err(|error| error.inside(&name))
    }
}
