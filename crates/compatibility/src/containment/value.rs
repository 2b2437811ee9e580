//! JSON values: their types, and when two are equal.

use contract::model::Types;
use serde_json::Value;

use super::decimal::Decimal;

/// One of JSON's types. The smallest witnesses come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    pub(crate) const ALL: [Self; 6] = [
        Self::Null,
        Self::Boolean,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Returns the set of this type alone.
    pub(crate) fn set(self) -> Types {
        match self {
            Self::Null => Types::NULL,
            Self::Boolean => Types::BOOLEAN,
            Self::Number => Types::NUMBER,
            Self::String => Types::STRING,
            Self::Array => Types::ARRAY,
            Self::Object => Types::OBJECT,
        }
    }
}

/// Returns whether two values are equal in JSON, in which `1` equals `1.0`.
pub(crate) fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other
                || match (Decimal::parse(one), Decimal::parse(other)) {
                    (Some(one), Some(other)) => one == other,
                    _ => false,
                }
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| is_equal(value, other)))
        }
        _ => one == other,
    }
}
