//! A deserializer of one value that is written as text, in a parameter or a body.

use std::cell::Cell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The error for a text that is not a value of the expected type. It says what was expected, never
/// what was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InputError {
    /// The JSON pointer to the part of the value that is wrong. Empty for the whole value.
    pub(super) pointer: String,
    /// What the value must be.
    pub(super) message: String,
}

impl InputError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            pointer: String::new(),
            message: message.into(),
        }
    }

    /// Returns the error with the key of the enclosing list or object put before its pointer.
    pub(super) fn inside(mut self, key: &str) -> Self {
        let key = crate::pointer::escape(key);
        self.pointer.insert_str(0, &format!("/{key}"));
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for InputError {}

impl de::Error for InputError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("must be {expected}"))
    }

    fn invalid_value(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("must be {expected}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("must be one of {}", expected.join(", ")))
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::new("is not a known property").inside(field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new("is required").inside(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new("must be given once").inside(field)
    }
}

/// How a text is decoded for types that accept any JSON, which do not say what they expect.
#[derive(Debug, Default)]
pub(super) struct Guess {
    /// Whether every text is decoded as a string, and none as a number or boolean.
    text_only: bool,
    /// Becomes true when a text is decoded as a number or boolean.
    made: Cell<bool>,
    /// Whether names such as `name[0]` are those of an object's properties, and not of items.
    objects_only: bool,
    /// Becomes true when such names are decoded as those of items.
    listed: Cell<bool>,
}

impl Guess {
    /// Returns the guess that every text is a string.
    pub(super) fn of_text() -> Self {
        Self {
            text_only: true,
            ..Self::default()
        }
    }

    /// Returns whether names that go on with brackets as items do are decoded as a list.
    pub(super) fn takes_list(&self) -> bool {
        if !self.objects_only {
            self.listed.set(true);
        }
        !self.objects_only
    }
}

/// Decodes a value that is written as text. A type that is decoded through JSON, such as a union,
/// does not say whether it expects `7` or `"7"`: texts are read as numbers first, and names with
/// brackets as those of items, and in the other ways if the type rejects that.
///
/// # Errors
///
/// Returns the error of the first way if the type rejects all.
pub(super) fn guessed<T>(
    decode: impl Fn(&Guess) -> Result<T, InputError>,
) -> Result<T, InputError> {
    let mut guess = Guess::default();
    let first = decode(&guess);
    if first.is_ok() {
        return first;
    }
    let (made, listed) = (guess.made.get(), guess.listed.get());
    for (text_only, objects_only) in [(true, false), (false, true), (true, true)] {
        guess.text_only = text_only;
        guess.objects_only = objects_only;
        if (made || !text_only)
            && (listed || !objects_only)
            && let Ok(decoded) = decode(&guess)
        {
            return Ok(decoded);
        }
    }
    first
}

/// A deserializer of one value, from its text without percent-encoding.
pub(super) struct Text<'t> {
    pub(super) text: &'t str,
    pub(super) guess: &'t Guess,
}

impl Text<'_> {
    fn number<'de, V: Visitor<'de>>(
        &self,
        visitor: V,
        expected: &str,
    ) -> Result<V::Value, InputError> {
        if !is_json_number(self.text) {
            return Err(InputError::new(format!("must be {expected}")));
        }
        // As an integer first: a float would lose digits of a large one.
        if let Ok(number) = self.text.parse::<i64>() {
            return visitor.visit_i64(number);
        }
        if let Ok(number) = self.text.parse::<u64>() {
            return visitor.visit_u64(number);
        }
        match self.text.parse::<f64>() {
            // `parse` makes a number that is too large infinite, and no error of it.
            Ok(number) if number.is_finite() => visitor.visit_f64(number),
            _ => Err(InputError::new("is out of range")),
        }
    }
}

macro_rules! numbers {
    ($($method:ident => $expected:literal),*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
            self.number(visitor, $expected)
        })*
    };
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = InputError;

    numbers! {
        deserialize_i8 => "an integer", deserialize_i16 => "an integer", deserialize_i32 => "an integer",
        deserialize_i64 => "an integer", deserialize_i128 => "an integer", deserialize_u8 => "an integer",
        deserialize_u16 => "an integer", deserialize_u32 => "an integer", deserialize_u64 => "an integer",
        deserialize_u128 => "an integer", deserialize_f32 => "a number", deserialize_f64 => "a number"
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        if self.guess.text_only {
            return visitor.visit_str(self.text);
        }
        match self.text {
            "true" | "false" => {
                self.guess.made.set(true);
                visitor.visit_bool(self.text == "true")
            }
            text if is_json_number(text) => {
                self.guess.made.set(true);
                self.number(visitor, "a number")
            }
            text => visitor.visit_str(text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match self.text {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(InputError::new("must be `true` or `false`")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_str(self.text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_str(self.text)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, _: V) -> Result<V::Value, InputError> {
        Err(InputError::new(
            "must be null, which cannot be written here",
        ))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        StrDeserializer::new(self.text).deserialize_enum(name, variants, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _: V) -> Result<V::Value, InputError> {
        Err(InputError::new(
            "must be a list, which cannot be written here",
        ))
    }

    /// Decodes the text as JSON: a form has an object inside it as JSON.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        // From a reader, because the text does not live for `'de`, so nothing can be borrowed from
        // it.
        let mut json = serde_json::Deserializer::from_reader(self.text.as_bytes());
        let value = json
            .deserialize_map(visitor)
            .and_then(|value| json.end().map(|()| value));
        value.map_err(|_| InputError::new("must be a JSON object that fits its schema"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        self.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        char bytes byte_buf unit_struct tuple tuple_struct ignored_any
    }
}

/// Returns whether a string is a number by the grammar of RFC 8259, which `007`, `+1`, `NaN` and
/// `1_000` are not.
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with('0')) {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let places = digits(fraction);
        if places == 0 {
            return false;
        }
        rest = &fraction[places..];
    }
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
        return rest.is_empty();
    };
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    !exponent.is_empty() && digits(exponent) == exponent.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_numbers_are_numbers() {
        for text in [
            "0",
            "-0",
            "10",
            "1.5",
            "1e3",
            "-1.25E-2",
            "18446744073709551615",
        ] {
            assert!(is_json_number(text), "{text}");
        }
        for text in [
            "", "-", "007", "+1", "1.", ".5", "1e", "NaN", "inf", "1_000", " 1", "0x1",
        ] {
            assert!(!is_json_number(text), "{text}");
        }
    }
}
