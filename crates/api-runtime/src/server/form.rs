//! Reads the fields of a form: each property in its style, and by default `name=value`, with an array as
//! repeated pairs and an object as JSON or in brackets.

use std::borrow::Cow;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::operation::{Parameter, Style};
use super::text::{Guess, InputError, guessed};
use super::tree::{Entries, Object, bracketed};
use super::written::{RawParameter, Written, takes_names};
use crate::Wire;
use crate::pairs::{Encoding, Pairs, decode};

/// Decodes a form, such as `name=value&name=value`, as a `T`. `fields` has the properties with a style.
pub(super) fn decode_form<T: Wire>(
    text: &str,
    fields: &'static [Parameter],
) -> Result<T, InputError> {
    let raw = RawParameter::Pairs(Pairs::of_form(text), fields);
    guessed(|guess| {
        let is_usual = |name: &str| !fields.iter().any(|field| raw.is_of(name, field));
        let rest = usual(text, guess, is_usual)?;
        if fields.is_empty() {
            return T::decode(rest);
        }
        T::decode(Form {
            raw: &raw,
            fields,
            rest,
            guess,
        })
    })
}

/// Parses the fields of the properties without a style, whose encoded names `is_usual` selects;
/// `name[key]` and `name[]` belong to `name`.
fn usual<'t>(
    text: &'t str,
    guess: &'t Guess,
    is_usual: impl Fn(&str) -> bool,
) -> Result<Object<'t>, InputError> {
    let mut object = Object::new(guess);
    let decoded = |raw| decode(raw, Encoding::Form).ok_or_else(|| InputError::new("must be UTF-8"));
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (raw, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !is_usual(raw) {
            continue;
        }
        let value = decoded(value)?;
        let name = decoded(raw)?;
        match name
            .find('[')
            .filter(|at| bracketed(&name[*at..]).is_some())
        {
            Some(at) => {
                let (name, rest) = name.split_at(at);
                object.add(
                    Cow::Owned(name.to_owned()),
                    (Cow::Owned(rest.to_owned()), value),
                );
            }
            None => object.add(name, (Cow::Borrowed(""), value)),
        }
    }
    Ok(object)
}

/// Returns whether a property is written in another way than the usual one.
pub(super) fn has_style(field: &Parameter) -> bool {
    (field.style, field.explode) != (Style::Form, true) || takes_names(field)
}

/// A deserializer of a form with properties in styles of their own.
struct Form<'t> {
    raw: &'t RawParameter<'t>,
    fields: &'static [Parameter],
    rest: Object<'t>,
    guess: &'t Guess,
}

impl<'de> Deserializer<'de> for Form<'_> {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_map(Fields {
            raw: self.raw,
            left: self.fields.iter(),
            current: None,
            rest: self.rest.into_entries(),
            guess: self.guess,
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

/// The properties with a style, and then the others.
struct Fields<'t> {
    raw: &'t RawParameter<'t>,
    left: std::slice::Iter<'static, Parameter>,
    current: Option<&'static Parameter>,
    rest: Entries<'t>,
    guess: &'t Guess,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = InputError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, InputError> {
        let raw = self.raw;
        let is_there = |field: &&Parameter| has_style(field) && raw.has(field);
        self.current = self.left.find(is_there);
        match self.current {
            Some(field) => seed
                .deserialize(StrDeserializer::<InputError>::new(field.name))
                .map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, InputError> {
        match self.current.take() {
            Some(field) => Written::new(field, self.raw, self.guess)
                .decode_seed(seed)
                .map_err(|error| error.inside(field.name)),
            None => self.rest.next_value_seed(seed),
        }
    }
}
