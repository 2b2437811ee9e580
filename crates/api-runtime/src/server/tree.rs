//! Deserializers of lists and objects that are written as text: `a,b`, `k=v&k=w`, `filter[from]=1`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

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

/// A deserializer of a list, from the values of each item.
pub(super) struct List<'t> {
    items: Vec<Vec<Leaf<'t>>>,
    guess: &'t Guess,
}

impl<'t> List<'t> {
    /// Returns a list of single values.
    pub(super) fn of_texts(items: Vec<Cow<'t, str>>, guess: &'t Guess) -> Self {
        let leaf = |text| vec![(Cow::Borrowed(""), text)];
        Self {
            items: items.into_iter().map(leaf).collect(),
            guess,
        }
    }
}

impl<'t> Object<'t> {
    pub(super) fn new(guess: &'t Guess) -> Self {
        Self {
            entries: Vec::new(),
            known: HashMap::new(),
            guess,
        }
    }

    /// Returns the properties one after the other.
    pub(super) fn into_entries(self) -> Entries<'t> {
        Entries {
            left: self.entries.into_iter(),
            value: None,
            guess: self.guess,
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

    /// Returns the list of the items `name=…`, `name[]=…` and `name[0]…=…`: those with an index in
    /// its order, and then the others in theirs.
    fn into_list(self) -> Result<List<'t>, InputError> {
        let mut indexed: Vec<(u64, Vec<Leaf<'t>>)> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut others = Vec::new();
        for (rest, text) in self.leaves {
            ensure_depth(&rest)?;
            match item(&rest).ok_or_else(|| InputError::new("must be a list"))? {
                (None, "") => others.push(vec![(Cow::Borrowed(""), text)]),
                // Nothing says where one item ends and the next begins.
                (None, _) => {
                    return Err(InputError::new(
                        "must have an index before the properties of an item, as in `name[0][property]=value`",
                    ));
                }
                (Some(index), rest) => {
                    let leaf = (Cow::Owned(rest.to_owned()), text);
                    match known.entry(index) {
                        Entry::Occupied(at) => indexed[*at.get()].1.push(leaf),
                        Entry::Vacant(at) => {
                            at.insert(indexed.len());
                            indexed.push((index, vec![leaf]));
                        }
                    }
                }
            }
        }
        indexed.sort_by_key(|(index, _)| *index);
        let items = indexed.into_iter().map(|(_, leaves)| leaves);
        Ok(List {
            items: items.chain(others).collect(),
            guess: self.guess,
        })
    }

    fn into_object(self) -> Result<Object<'t>, InputError> {
        let mut object = Object::new(self.guess);
        for (rest, text) in self.leaves {
            ensure_depth(&rest)?;
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

    /// Returns whether every name goes on as that of an item does. The properties of an object can
    /// be called so too.
    fn has_items(&self) -> bool {
        self.leaves.iter().all(|(rest, _)| item(rest).is_some())
    }

    fn is_nested(&self) -> bool {
        self.leaves.iter().all(|(rest, _)| !rest.is_empty())
    }
}

/// Checks the number of brackets of a name. Each is a level of recursion, whose number the caller
/// must not choose.
fn ensure_depth(rest: &str) -> Result<(), InputError> {
    if rest.matches('[').count() > MAX_DEPTH {
        return Err(InputError::new("must not nest deeper than 128 brackets"));
    }
    Ok(())
}

/// Splits the rest of an item's name, which is empty or begins with `[]` or `[0]`, into the index, if
/// it has one, and what follows. Returns `None` for another name.
fn item(rest: &str) -> Option<(Option<u64>, &str)> {
    if rest.is_empty() {
        return Some((None, ""));
    }
    let (key, rest) = bracketed(rest)?;
    if key.is_empty() {
        return Some((None, rest));
    }
    // `parse` takes a sign, which no index has.
    let is_index = key.bytes().all(|byte| byte.is_ascii_digit());
    let index = key.parse().ok().filter(|_| is_index)?;
    Some((Some(index), rest))
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
            _ if self.is_nested() && self.has_items() && self.guess.takes_list() => {
                self.deserialize_seq(visitor)
            }
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
            left: items.into_iter(),
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
        visitor.visit_map(self.into_entries())
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
    left: std::vec::IntoIter<Vec<Leaf<'t>>>,
    guess: &'t Guess,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = InputError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, InputError> {
        let Some(leaves) = self.left.next() else {
            return Ok(None);
        };
        let at = self.at;
        self.at += 1;
        let guess = self.guess;
        let item = match leaves.as_slice() {
            // A single value is no list of one: that would be an item with brackets of its own.
            [(rest, text)] if rest.is_empty() => seed.deserialize(Text { text, guess }),
            _ => seed.deserialize(Tree { leaves, guess }),
        };
        item.map(Some)
            .map_err(|error| error.inside(&at.to_string()))
    }
}

/// The properties of an object, one after the other.
pub(super) struct Entries<'t> {
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
