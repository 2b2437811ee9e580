//! Decodes a parameter, by its style, from the text in the request.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::form::has_style;
use super::operation::{Parameter, Style};
use super::text::{Guess, InputError, Text, guessed};
use super::tree::{List, Object, Tree, bracketed};
use crate::Wire;
use crate::pairs::{Encoding, Pairs, decode};

/// A parameter as the request writes it.
#[derive(Debug)]
pub(super) enum RawParameter<'a> {
    /// A segment of the path.
    Segment(&'a str),
    /// The lines of a header, joined with commas, and whether there are several.
    Header(Cow<'a, str>, bool),
    /// The pairs of a query or of cookies, and all parameters of the operation.
    Pairs(Pairs<'a>, &'a [Parameter]),
}

/// Decodes a parameter that the request has.
pub(super) fn decode_parameter<T: Wire>(
    parameter: &Parameter,
    raw: &RawParameter<'_>,
) -> Result<T, InputError> {
    if parameter.style == Style::Json {
        let guess = Guess::default();
        let text = Written::new(parameter, raw, &guess).scalar()?;
        return crate::json::from_slice_strict(text.as_bytes()).map_err(|_| unfit_json());
    }
    guessed(|guess| T::decode(Written::new(parameter, raw, guess)))
}

/// Returns the error of a JSON text that is none, or does not fit.
fn unfit_json() -> InputError {
    InputError::new("must be a JSON text that fits its schema")
}

impl RawParameter<'_> {
    /// Returns whether the request has the parameter; always true for a path segment, a header, or a
    /// required object that is the whole query.
    pub(super) fn has(&self, parameter: &Parameter) -> bool {
        let Self::Pairs(pairs, others) = self else {
            return true;
        };
        match parameter.style {
            // An object without properties is an empty query, and a text may be empty.
            Style::Form | Style::Simple if parameter.whole_query && parameter.required => true,
            Style::Json | Style::Simple if parameter.whole_query => !pairs.text().is_empty(),
            Style::DeepObject => pairs
                .raw()
                .any(|(name, _)| deep_rest(pairs, name, parameter.name).is_some()),
            _ if takes_names(parameter) => pairs
                .raw()
                .any(|(name, _)| is_property(pairs, name, parameter, others)),
            _ => pairs.values(parameter.name).next().is_some(),
        }
    }

    /// Returns whether a pair with this encoded name belongs to a property of a form, if the property
    /// has a style.
    pub(super) fn is_of(&self, raw: &str, field: &Parameter) -> bool {
        let Self::Pairs(pairs, others) = self else {
            return false;
        };
        if !has_style(field) {
            return false;
        }
        if takes_names(field) {
            return is_property(pairs, raw, field, others);
        }
        pairs.is_name(raw, field.name)
    }
}

/// Returns whether the parameter is an object whose properties are each a name in the query or
/// cookies.
pub(super) fn takes_names(parameter: &Parameter) -> bool {
    matches!(parameter.style, Style::Form | Style::Cookie)
        && parameter.explode
        && (parameter.open || !parameter.properties.is_empty())
}

/// Returns whether the encoded name `raw` is a property of `parameter`, an object whose properties
/// are each a name in the query or cookies. `others` are all parameters of the operation.
fn is_property(pairs: &Pairs<'_>, raw: &str, parameter: &Parameter, others: &[Parameter]) -> bool {
    parameter
        .properties
        .iter()
        .any(|property| pairs.is_name(raw, property))
        // An open object takes the names that no other parameter of the location has, as its own or
        // as those of its properties.
        || (parameter.open
            && others.iter().all(|other| {
                other.location != parameter.location
                    || (other.name == parameter.name || !is_own_name(pairs, raw, other))
                        && (other == parameter
                            || other
                                .properties
                                .iter()
                                .all(|name| !pairs.is_name(raw, name)))
            }))
}

/// Returns whether the encoded name `raw` is that of a parameter, or has brackets behind it if the
/// parameter is written in these.
fn is_own_name(pairs: &Pairs<'_>, raw: &str, parameter: &Parameter) -> bool {
    let is_in_brackets =
        parameter.style == Style::DeepObject || (pairs.is_form && !has_style(parameter));
    pairs.is_name(raw, parameter.name)
        || is_in_brackets
            && deep_rest(pairs, raw, parameter.name).is_some_and(|rest| bracketed(&rest).is_some())
}

/// Returns what follows the name of a `deepObject` parameter in the encoded name `raw`: brackets, or
/// nothing. Returns `None` for another name.
fn deep_rest<'r>(pairs: &Pairs<'_>, raw: &'r str, name: &str) -> Option<Cow<'r, str>> {
    let decoded = decode(raw, pairs.encoding)?;
    let rest = decoded.strip_prefix(name)?;
    if !rest.is_empty() && !rest.starts_with('[') {
        return None;
    }
    Some(match decoded {
        Cow::Borrowed(text) => Cow::Borrowed(&text[name.len()..]),
        Cow::Owned(mut text) => Cow::Owned(text.split_off(name.len())),
    })
}

/// A deserializer of a parameter from how the request writes it.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    parameter: &'a Parameter,
    raw: &'a RawParameter<'a>,
    guess: &'a Guess,
}

impl<'a> Written<'a> {
    pub(super) fn new(
        parameter: &'a Parameter,
        raw: &'a RawParameter<'a>,
        guess: &'a Guess,
    ) -> Self {
        Self {
            parameter,
            raw,
            guess,
        }
    }

    /// Decodes the value, which may be a JSON text.
    pub(super) fn decode_seed<'de, S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, InputError> {
        if self.parameter.style != Style::Json {
            return seed.deserialize(self);
        }
        let text = self.scalar()?;
        let mut json = serde_json::Deserializer::from_reader(text.as_bytes());
        let value = seed.deserialize(&mut json);
        let value = value.and_then(|value| json.end().map(|()| value));
        value.map_err(|_| unfit_json())
    }

    /// Returns the only value of the parameter, still encoded. No value or several are an error.
    fn raw(self) -> Result<&'a str, InputError> {
        match self.raw {
            RawParameter::Segment(text) => Ok(text),
            RawParameter::Header(text, false) => Ok(text),
            RawParameter::Header(_, true) => Err(InputError::new("must be given once")),
            RawParameter::Pairs(pairs, _) if self.parameter.whole_query => Ok(pairs.text()),
            // Readers differ in which of two values they take, so none is taken.
            RawParameter::Pairs(pairs, _) => {
                let mut values = pairs.values(self.parameter.name);
                match (values.next(), values.next()) {
                    (Some(text), None) => Ok(text),
                    (None, _) => Err(InputError::new("is required")),
                    _ => Err(InputError::new("must be given once")),
                }
            }
        }
    }

    fn decode(self, raw: &'a str) -> Result<Cow<'a, str>, InputError> {
        let encoding = match self.raw {
            RawParameter::Segment(_) => Encoding::Percent,
            RawParameter::Header(..) => Encoding::Plain,
            // The style `cookie` writes values as they are, a percent sign too.
            RawParameter::Pairs(..) if self.parameter.style == Style::Cookie => Encoding::Plain,
            // In a query that is no form, a plus is a plus.
            RawParameter::Pairs(..)
                if self.parameter.whole_query && self.parameter.style != Style::Form =>
            {
                Encoding::Percent
            }
            RawParameter::Pairs(pairs, _) => pairs.encoding,
        };
        decode(raw, encoding)
            .ok_or_else(|| InputError::new("must be UTF-8 once its percent signs are decoded"))
    }

    fn scalar(self) -> Result<Cow<'a, str>, InputError> {
        let raw = self.raw()?;
        let text = match self.parameter.style {
            Style::Label => after(raw, ".")?,
            Style::Matrix => after(raw, &format!(";{}=", self.parameter.name))?,
            _ => raw,
        };
        self.decode(text)
    }

    fn items(self) -> Result<Vec<Cow<'a, str>>, InputError> {
        self.pieces()?
            .into_iter()
            .map(|piece| self.decode(piece))
            .collect()
    }

    /// Returns the items of a list, still encoded.
    fn pieces(self) -> Result<Vec<&'a str>, InputError> {
        let Parameter {
            style,
            explode,
            name,
            ..
        } = *self.parameter;
        if let RawParameter::Pairs(pairs, _) = self.raw
            && explode
        {
            return Ok(pairs.values(name).collect());
        }
        // Split before decoding, so that an encoded comma stays in its item. A URL can have no
        // blank and no bar, so their encoded forms separate too.
        Ok(match style {
            Style::Label => split(
                after(self.lines()?, ".")?,
                &[if explode { "." } else { "," }],
            ),
            Style::Matrix if explode => {
                let prefix = format!("{name}=");
                let raw = after(self.lines()?, ";")?;
                raw.split(';')
                    .map(|piece| after(piece, &prefix))
                    .collect::<Result<_, _>>()?
            }
            Style::Matrix => split(after(self.lines()?, &format!(";{name}="))?, &[","]),
            Style::SpaceDelimited => split(self.raw()?, &["%20", "+", " "]),
            Style::PipeDelimited => split(self.raw()?, &["%7C", "%7c", "|"]),
            _ => split(self.lines()?, &[","])
                .into_iter()
                .map(str::trim)
                .collect(),
        })
    }

    /// Returns the value as [`Self::raw`] does, but accepts a repeated header, whose lines are
    /// joined, since a list may have several.
    fn lines(self) -> Result<&'a str, InputError> {
        match self.raw {
            RawParameter::Header(text, _) => Ok(text),
            _ => self.raw(),
        }
    }

    fn object(self) -> Result<Object<'a>, InputError> {
        let mut object = Object::new(self.guess);
        match (self.raw, self.parameter.style) {
            (RawParameter::Pairs(..), Style::DeepObject) => {
                for (key, value) in self.deep()?.leaves {
                    let shape = || InputError::new("must be written as `name[property]=value`");
                    let (name, rest) = bracketed(&key).ok_or_else(shape)?;
                    let rest = Cow::Owned(rest.to_owned());
                    object.add(Cow::Owned(name.to_owned()), (rest, value));
                }
            }
            (RawParameter::Pairs(pairs, others), Style::Form | Style::Cookie)
                if self.parameter.explode =>
            {
                for (raw, value) in pairs.raw() {
                    if is_property(pairs, raw, self.parameter, others) {
                        object.add(self.decode(raw)?, (Cow::Borrowed(""), self.decode(value)?));
                    }
                }
            }
            (_, Style::Matrix) if self.parameter.explode => {
                self.add_assigned(after(self.lines()?, ";")?.split(';'), &mut object)?;
            }
            _ if self.parameter.explode => {
                self.add_assigned(self.pieces()?.into_iter(), &mut object)?;
            }
            _ => {
                let pieces = self.pieces()?;
                for pair in pieces.chunks(2) {
                    let [name, value] = pair else {
                        return Err(InputError::new("must be names and values in turn"));
                    };
                    object.add(self.decode(name)?, (Cow::Borrowed(""), self.decode(value)?));
                }
            }
        }
        Ok(object)
    }

    /// Returns the values of a `deepObject` parameter, each with what its name has behind that of
    /// the parameter.
    fn deep(self) -> Result<Tree<'a>, InputError> {
        let mut leaves = Vec::new();
        if let RawParameter::Pairs(pairs, _) = self.raw {
            for (raw, value) in pairs.raw() {
                if let Some(rest) = deep_rest(pairs, raw, self.parameter.name) {
                    leaves.push((rest, self.decode(value)?));
                }
            }
        }
        Ok(Tree {
            leaves,
            guess: self.guess,
        })
    }

    /// Adds pieces of the form `name=value` to an object, decoded.
    fn add_assigned(
        self,
        pieces: impl Iterator<Item = &'a str>,
        object: &mut Object<'a>,
    ) -> Result<(), InputError> {
        for piece in pieces {
            let Some((name, value)) = piece.split_once('=') else {
                return Err(InputError::new("must be written as `name=value`"));
            };
            object.add(self.decode(name)?, (Cow::Borrowed(""), self.decode(value)?));
        }
        Ok(())
    }
}

/// Returns what follows a prefix, or the error that the prefix is missing.
fn after<'t>(text: &'t str, prefix: &str) -> Result<&'t str, InputError> {
    text.strip_prefix(prefix)
        .ok_or_else(|| InputError::new(format!("must begin with `{prefix}`")))
}

/// Splits a string at each of the separators. An empty string has no pieces.
fn split<'t>(text: &'t str, separators: &[&str]) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    if text.is_empty() {
        return pieces;
    }
    // In one pass: a search for each separator after each piece would read the rest of the text again
    // and again.
    let (mut begin, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        let mut separators = separators.iter().map(|separator| separator.as_bytes());
        match separators.find(|separator| rest.starts_with(separator)) {
            Some(separator) => {
                pieces.push(&text[begin..at]);
                at += separator.len();
                begin = at;
            }
            None => at += 1,
        }
    }
    pieces.push(&text[begin..]);
    pieces
}

macro_rules! scalars {
    ($($method:ident),*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
            Text { text: &self.scalar()?, guess: self.guess }.$method(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Written<'_> {
    type Error = InputError;

    scalars! {
        deserialize_bool, deserialize_i8, deserialize_i16, deserialize_i32, deserialize_i64, deserialize_i128,
        deserialize_u8, deserialize_u16, deserialize_u32, deserialize_u64, deserialize_u128, deserialize_f32,
        deserialize_f64, deserialize_char, deserialize_str, deserialize_string, deserialize_bytes,
        deserialize_byte_buf, deserialize_unit, deserialize_identifier, deserialize_ignored_any
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        if self.parameter.style == Style::DeepObject {
            return self.deep()?.deserialize_any(visitor);
        }
        if takes_names(self.parameter) || !self.parameter.properties.is_empty() {
            return self.deserialize_map(visitor);
        }
        match self.scalar() {
            Ok(text) => Text {
                text: &text,
                guess: self.guess,
            }
            .deserialize_any(visitor),
            // A name that is given more than once is no single text, so it is read as a list.
            Err(_) => self.deserialize_seq(visitor),
        }
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

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        if self.parameter.style == Style::DeepObject {
            return self.deep()?.deserialize_seq(visitor);
        }
        List::of_texts(self.items()?, self.guess).deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        self.object()?.deserialize_map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        self.object()?.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        Text {
            text: &self.scalar()?,
            guess: self.guess,
        }
        .deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! { unit_struct tuple tuple_struct }
}
