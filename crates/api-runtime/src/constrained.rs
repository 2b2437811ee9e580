//! [`Text`]: a string that a schema constrains at the place where it is used, without a name of its
//! own.
//!
//! A large contract has thousands of such strings. Their types are aliases of one generic type, so
//! the compiler checks its methods once and not for each of them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

use crate::constraint;
use crate::{ConstraintError, Pattern, Wire};

/// The rules of a [`Text`], which the attribute `text` writes.
pub trait TextRules: Sized + 'static {
    /// The name of the alias.
    const ALIAS: &'static str;
    /// The description of the schema, for messages.
    const DESCRIPTION: Option<&'static str> = None;
    /// `minLength`
    const MIN_LENGTH: Option<usize> = None;
    /// `maxLength`
    const MAX_LENGTH: Option<usize> = None;
    /// `format`, with the function that checks it.
    const FORMAT: Option<(&'static str, fn(&str) -> bool)> = None;

    /// Returns the `pattern`.
    #[inline]
    #[must_use]
    fn pattern() -> Option<&'static Pattern> {
        None
    }

    /// Checks a string against the compiled schema, where Rust does not express all keywords.
    ///
    /// # Errors
    ///
    /// If the schema does not accept the string.
    #[inline]
    fn compiled(_text: &str) -> Result<(), ConstraintError> {
        Ok(())
    }
}

/// A string that holds only values that the rules `R` accept.
///
/// Each pair of rules has a type of its own, so that one text is not taken for another.
pub struct Text<R> {
    text: String,
    // A function pointer, so that the type is `Send` and `Sync` for all rules.
    rules: PhantomData<fn() -> R>,
}

impl<R: TextRules> Text<R> {
    fn checked(text: String) -> Result<Self, ConstraintError> {
        constraint::Text {
            // An inline schema has no name.
            schema: None,
            description: R::DESCRIPTION,
            min_length: R::MIN_LENGTH,
            max_length: R::MAX_LENGTH,
            pattern: R::pattern(),
            format: R::FORMAT,
        }
        .check(&text)?;
        R::compiled(&text)?;
        Ok(Self {
            text,
            rules: PhantomData,
        })
    }
}

impl<R> Text<R> {
    /// Returns the string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the string, without copying it.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }
}

// The traits are not derived, which would ask them of the rules too.
impl<R> Clone for Text<R> {
    fn clone(&self) -> Self {
        Self {
            text: self.text.clone(),
            rules: PhantomData,
        }
    }
}

impl<R> PartialEq for Text<R> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<R> Eq for Text<R> {}

impl<R> PartialEq<str> for Text<R> {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl<R> PartialEq<&str> for Text<R> {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl<R> Hash for Text<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl<R> PartialOrd for Text<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R> Ord for Text<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl<R: TextRules> fmt::Debug for Text<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(R::ALIAS).field(&self.text).finish()
    }
}

impl<R> fmt::Display for Text<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<R> AsRef<str> for Text<R> {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl<R> From<Text<R>> for String {
    fn from(text: Text<R>) -> Self {
        text.text
    }
}

impl<R: TextRules> TryFrom<String> for Text<R> {
    type Error = ConstraintError;

    fn try_from(text: String) -> Result<Self, ConstraintError> {
        Self::checked(text)
    }
}

impl<R: TextRules> TryFrom<&str> for Text<R> {
    type Error = ConstraintError;

    fn try_from(text: &str) -> Result<Self, ConstraintError> {
        Self::checked(text.to_owned())
    }
}

impl<R: TextRules> FromStr for Text<R> {
    type Err = ConstraintError;

    fn from_str(text: &str) -> Result<Self, ConstraintError> {
        Self::checked(text.to_owned())
    }
}

impl<R> Serialize for Text<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, R: TextRules> Deserialize<'de> for Text<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::checked(<String as Wire>::decode(deserializer)?).map_err(D::Error::custom)
    }
}

impl<R: TextRules> Wire for Text<R> {}

/// The rules describe the schema.
impl<R: crate::Described> crate::Described for Text<R> {
    fn schema() -> serde_json::Value {
        R::schema()
    }
}

#[cfg(feature = "schemars")]
impl<R: TextRules + crate::Described> schemars::JsonSchema for Text<R> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        R::ALIAS.into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        crate::described::schemars_schema::<Self>(generator)
    }
}

#[cfg(feature = "utoipa")]
impl<R: crate::Described> utoipa::PartialSchema for Text<R> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        crate::described::utoipa_schema(R::schema())
    }
}

#[cfg(feature = "utoipa")]
impl<R: TextRules + crate::Described> utoipa::ToSchema for Text<R> {
    fn name() -> std::borrow::Cow<'static, str> {
        R::ALIAS.into()
    }
}

#[cfg(feature = "fake")]
impl<R: TextRules + crate::Described + crate::fake::OfContract> proptest::arbitrary::Arbitrary
    for Text<R>
{
    type Parameters = ();
    type Strategy = proptest::strategy::BoxedStrategy<Self>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        crate::fake::values(R::schemas())
    }
}

#[cfg(feature = "fake")]
impl<R: TextRules + crate::Described + crate::fake::OfContract> Text<R> {
    /// Returns a valid value for tests, always the same: the contract's example, or one that is made
    /// of its rules.
    #[must_use]
    pub fn example() -> Self {
        crate::fake::example(R::schemas())
    }
}
