//! The constraints that expansions of the derives check, and the messages for values that violate
//! them.

use std::fmt;

use serde_json::Value;

use crate::pattern::Pattern;

/// The constraint of a schema that a value violates.
///
/// The message names the rule and its limit, such as `must be at most 5`. It never contains the
/// value, which may be a secret, and never a regular expression, which most readers of a message
/// cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConstraintError {
    /// `minLength`, in characters.
    MinLength(usize),
    /// `maxLength`, in characters.
    MaxLength(usize),
    /// `pattern`. The message gives the rule in the words of the schema's description, if it can.
    Pattern {
        /// The description of the schema.
        description: Option<&'static str>,
        /// The name of the schema among the contract's components, or `None` for an inline schema.
        schema: Option<&'static str>,
    },
    /// `format`
    Format(&'static str),
    /// `minimum`
    Minimum(String),
    /// `maximum`
    Maximum(String),
    /// `exclusiveMinimum`
    ExclusiveMinimum(String),
    /// `exclusiveMaximum`
    ExclusiveMaximum(String),
    /// `multipleOf`
    MultipleOf(String),
    /// `minItems`
    MinItems(usize),
    /// `maxItems`
    MaxItems(usize),
    /// `uniqueItems`
    UniqueItems,
    /// `minProperties`
    MinProperties(usize),
    /// `maxProperties`
    MaxProperties(usize),
    /// `enum`, with the listed values.
    Enum(&'static [&'static str]),
    /// The string cannot be parsed as a value of the type, which is named, such as
    /// `a number in range`.
    Kind(&'static str),
    /// Keywords that a compiled schema checks, with the message about them.
    Schema(String),
}

impl fmt::Display for ConstraintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        match self {
            Self::MinLength(least) => write!(
                f,
                "must be at least {least} character{} long",
                plural(*least)
            ),
            Self::MaxLength(most) => {
                write!(f, "must be at most {most} character{} long", plural(*most))
            }
            Self::Pattern {
                description,
                schema,
            } => f.write_str(&crate::rule::message(*description, *schema)),
            Self::Format(format) => write!(f, "must have the format `{format}`"),
            Self::Minimum(bound) => write!(f, "must be at least {bound}"),
            Self::Maximum(bound) => write!(f, "must be at most {bound}"),
            Self::ExclusiveMinimum(bound) => write!(f, "must be greater than {bound}"),
            Self::ExclusiveMaximum(bound) => write!(f, "must be less than {bound}"),
            Self::MultipleOf(step) => write!(f, "must be a multiple of {step}"),
            Self::MinItems(least) => write!(f, "must have at least {least} item{}", plural(*least)),
            Self::MaxItems(most) => write!(f, "must have at most {most} item{}", plural(*most)),
            Self::UniqueItems => f.write_str("must not contain the same item twice"),
            Self::MinProperties(1) => f.write_str("must have at least 1 property"),
            Self::MinProperties(least) => write!(f, "must have at least {least} properties"),
            Self::MaxProperties(1) => f.write_str("must have at most 1 property"),
            Self::MaxProperties(most) => write!(f, "must have at most {most} properties"),
            Self::Enum(values) => {
                f.write_str("must be one of ")?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}`{value}`", if at == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::Kind(words) => write!(f, "must be {words}"),
            Self::Schema(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for ConstraintError {}

/// The constraints of a string.
pub struct Text {
    /// The name of the schema among the contract's components, for messages.
    pub schema: Option<&'static str>,
    /// The description of the schema, for messages.
    pub description: Option<&'static str>,
    /// `minLength`
    pub min_length: Option<usize>,
    /// `maxLength`
    pub max_length: Option<usize>,
    /// `pattern`
    pub pattern: Option<&'static Pattern>,
    /// `format`, with the function that checks it.
    pub format: Option<(&'static str, fn(&str) -> bool)>,
}

impl Text {
    /// Checks a string.
    ///
    /// # Errors
    ///
    /// The first constraint that the string violates. The pattern comes after the lengths, so that
    /// it never has to look at a string that is too long.
    #[inline]
    pub fn check(&self, text: &str) -> Result<(), ConstraintError> {
        if let Some(least) = self.min_length
            && (text.len() < least || !reaches(text, least))
        {
            return Err(ConstraintError::MinLength(least));
        }
        if let Some(most) = self.max_length
            // A text has at most as many characters as bytes, so most texts need no counting.
            && text.len() > most
            && exceeds(text, most)
        {
            return Err(ConstraintError::MaxLength(most));
        }
        if let Some(pattern) = self.pattern
            && !pattern.matches(text)
        {
            return Err(ConstraintError::Pattern {
                description: self.description,
                schema: self.schema,
            });
        }
        if let Some((name, check)) = self.format
            && !check(text)
        {
            return Err(ConstraintError::Format(name));
        }
        Ok(())
    }
}

/// Returns whether a string has at least `least` characters.
///
/// A character has at most four bytes, so most strings need no counting.
fn reaches(text: &str, least: usize) -> bool {
    // No character has more than four bytes, so long texts need no counting.
    text.len() >= least.saturating_mul(4) || least == 0 || text.chars().nth(least - 1).is_some()
}

/// Returns whether a string has more than `most` characters.
fn exceeds(text: &str, most: usize) -> bool {
    // A character has one to four bytes, so most strings need no counting, and none much.
    if text.len() <= most {
        return false;
    }
    if text.len() > most.saturating_mul(4) {
        return true;
    }
    // Each character has one byte that does not continue another. A sum of at most 255 fits a byte,
    // so the compiler adds many at once; `Chars` takes several times as long. What it adds at once
    // are 32 bytes, and a rest of fewer would be added one by one.
    let starts =
        |bytes: &[u8]| -> u8 { bytes.iter().map(|byte| u8::from(byte & 0xC0 != 0x80)).sum() };
    let characters: usize = text
        .as_bytes()
        .chunks(224)
        .map(|chunk| usize::from(starts(chunk)))
        .sum();
    characters > most
}

/// A number type whose values can be compared with bounds.
pub trait Numeric: Copy + PartialOrd + fmt::Display {
    /// Returns whether the number is a whole multiple of `step`, up to the rounding error of
    /// floats.
    fn is_multiple_of(self, step: Self) -> bool;
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(
            impl Numeric for $integer {
                fn is_multiple_of(self, step: Self) -> bool {
                    step != 0 && self % step == 0
                }
            }
        )*
    };
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Numeric for f64 {
    fn is_multiple_of(self, step: Self) -> bool {
        let quotient = self / step;
        // Not `self % step == 0.0`: a decimal step such as 0.01 has no exact binary form, so its
        // multiples leave a remainder. A quotient within a few units in the last place of a whole
        // number counts as whole.
        quotient.is_finite()
            && (quotient - quotient.round()).abs() <= quotient.abs().max(1.0) * 4.0 * f64::EPSILON
    }
}

impl Numeric for f32 {
    fn is_multiple_of(self, step: Self) -> bool {
        f64::from(self).is_multiple_of(f64::from(step))
    }
}

/// The constraints of a number.
pub struct Bounds<T> {
    /// `minimum`
    pub minimum: Option<T>,
    /// `maximum`
    pub maximum: Option<T>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: Option<T>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: Option<T>,
    /// `multipleOf`
    pub multiple_of: Option<T>,
}

impl<T: Numeric> Bounds<T> {
    /// Checks a number.
    ///
    /// # Errors
    ///
    /// The first constraint that the number violates.
    pub fn check(&self, value: T) -> Result<(), ConstraintError> {
        if let Some(bound) = self.minimum.filter(|bound| value < *bound) {
            return Err(ConstraintError::Minimum(bound.to_string()));
        }
        if let Some(bound) = self.maximum.filter(|bound| value > *bound) {
            return Err(ConstraintError::Maximum(bound.to_string()));
        }
        if let Some(bound) = self.exclusive_minimum.filter(|bound| value <= *bound) {
            return Err(ConstraintError::ExclusiveMinimum(bound.to_string()));
        }
        if let Some(bound) = self.exclusive_maximum.filter(|bound| value >= *bound) {
            return Err(ConstraintError::ExclusiveMaximum(bound.to_string()));
        }
        if let Some(step) = self.multiple_of.filter(|step| !value.is_multiple_of(*step)) {
            return Err(ConstraintError::MultipleOf(step.to_string()));
        }
        Ok(())
    }
}

/// The constraints of an array.
pub struct Items {
    /// `minItems`
    pub min: Option<usize>,
    /// `maxItems`
    pub max: Option<usize>,
    /// `uniqueItems`
    pub unique: bool,
}

impl Items {
    /// Checks an array.
    ///
    /// # Errors
    ///
    /// The first constraint that the array violates.
    pub fn check<T: crate::Wire>(&self, items: &[T]) -> Result<(), ConstraintError> {
        if let Some(least) = self.min.filter(|least| items.len() < *least) {
            return Err(ConstraintError::MinItems(least));
        }
        if let Some(most) = self.max.filter(|most| items.len() > *most) {
            return Err(ConstraintError::MaxItems(most));
        }
        if self.unique && items.len() > 1 && !all_differ(items) {
            return Err(ConstraintError::UniqueItems);
        }
        Ok(())
    }
}

/// Checks the number of an object's properties against `minProperties` and `maxProperties`.
///
/// # Errors
///
/// The constraint that the number of properties violates.
pub fn entries(
    count: usize,
    least: Option<usize>,
    most: Option<usize>,
) -> Result<(), ConstraintError> {
    if let Some(least) = least.filter(|least| count < *least) {
        return Err(ConstraintError::MinProperties(least));
    }
    if let Some(most) = most.filter(|most| count > *most) {
        return Err(ConstraintError::MaxProperties(most));
    }
    Ok(())
}

/// Returns whether no two items are equal as JSON.
///
/// The canonical strings of the items are compared in a set, and not each item with each other one:
/// the time stays linear, however many items a client sends, and the items need not implement
/// `Hash`.
fn all_differ<T: crate::Wire>(items: &[T]) -> bool {
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    items.iter().all(
        |item| match serde_json::to_value(crate::wire::Encoded(item)) {
            Ok(value) => seen.insert(canonical(&value)),
            // Only a number that JSON cannot hold; its own type reports that.
            Err(_) => true,
        },
    )
}

/// Returns a string that is the same for all JSON values that are equal: keys sorted, whole numbers
/// without a fraction.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => match number.as_f64() {
            // JSON Schema compares numbers by value, so `1.0` and `1` need the same text. Integers
            // keep their own text: a cast to a float would make large neighbours equal.
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole and far from the ends of an i128"
            )]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e38 => {
                text.push_str(&(float as i128).to_string());
            }
            _ => text.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            // Objects are equal in any order of their properties.
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in entries {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        plain @ (Value::Null | Value::Bool(_) | Value::String(_)) => {
            text.push_str(&plain.to_string());
        }
    }
}

/// Returns whether two JSON values are equal as JSON Schema means it: `1` and `1.0` are the same
/// number.
#[must_use]
pub fn json_eq(one: &Value, other: &Value) -> bool {
    // Most equal values are written alike, and need no canonical text.
    one == other || canonical(one) == canonical(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_as_the_standard_library_counts_them() {
        for letter in ["a", "é", "€", "𝄞", "aé€𝄞"] {
            for repeats in [0, 1, 2, 63, 64, 127, 128, 255, 256, 600] {
                let text = letter.repeat(repeats);
                let count = text.chars().count();
                for most in [0, 1, 255, count.saturating_sub(1), count, count + 1] {
                    assert_eq!(
                        exceeds(&text, most),
                        count > most,
                        "{letter} {repeats} {most}"
                    );
                }
            }
        }
    }
}
