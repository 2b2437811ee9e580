//! A document as a tree, with a position for every node: what the readers of JSON and YAML yield.

use crate::source::Span;

/// The deepest nesting of lists and maps that is read: what the document says is read again as JSON where generated
/// code is built and runs, and there 128 is the most.
pub const MAX_DEPTH: usize = 120;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where the value stands, its brackets or quotes included.
    pub span: Span,
    /// The value.
    pub value: NodeValue,
}

/// The kinds of value that JSON knows.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number; integers keep all their digits as far as `u64` and `i64` reach.
    Number(serde_json::Number),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Node>),
    /// A map in the document's order, each key once.
    Object(Vec<Entry>),
}

/// A key of an object, its position, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value of a key, if this is an object that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key, if this is an object that has it.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.as_object()?.iter().find(|entry| entry.key == key)
    }

    /// The entries, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&[Entry]> {
        match &self.value {
            NodeValue::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            NodeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            NodeValue::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The number, if this is one.
    #[must_use]
    pub fn as_number(&self) -> Option<&serde_json::Number> {
        match &self.value {
            NodeValue::Number(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the number if it is a count: an integer from 0, also when it is written `3.0`.
    #[must_use]
    pub fn as_count(&self) -> Option<u64> {
        let number = self.as_number()?;
        number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "checked: a whole number within range"
            )]
            (float >= 0.0 && float.fract() == 0.0 && float < u64::MAX as f64)
                .then_some(float as u64)
        })
    }

    /// What kind of value this is, in words for a message.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "null",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Number(_) => "a number",
            NodeValue::String(_) => "a string",
            NodeValue::Array(_) => "an array",
            NodeValue::Object(_) => "an object",
        }
    }

    /// The same value without positions.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            NodeValue::Null => serde_json::Value::Null,
            NodeValue::Bool(value) => (*value).into(),
            NodeValue::Number(value) => serde_json::Value::Number(value.clone()),
            NodeValue::String(text) => text.as_str().into(),
            NodeValue::Array(items) => items.iter().map(Node::to_json).collect(),
            NodeValue::Object(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_json()))
                    .collect(),
            ),
        }
    }
}
