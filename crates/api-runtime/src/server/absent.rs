//! The value of a parameter or body that a request does not have.

use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::text::InputError;
use crate::Wire;

/// Returns the value of type `T` for an absent parameter or body, or `None` if `T` has no such
/// value.
pub(super) fn decode_absent<T: Wire>() -> Option<T> {
    T::decode(Absent).ok()
}

/// Returns the value of type `T` for null, or `None` if there is none. An `Option` is there: null is for
/// what is inside of it.
pub(super) fn decode_null<T: Wire>() -> Option<T> {
    T::decode(PresentNull).ok()
}

/// A deserializer of null.
struct PresentNull;

impl<'de> Deserializer<'de> for PresentNull {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        visitor.visit_some(serde_json::Value::Null)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A deserializer without a value, from which only an `Option` can be decoded.
struct Absent;

impl<'de> Deserializer<'de> for Absent {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, InputError> {
        Err(InputError::new("is required"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
