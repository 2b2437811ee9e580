//! A document as a tree of nodes, each with its span, as the readers of JSON and YAML return it.

use crate::source::Span;

/// The deepest nesting of arrays and objects that is read. Generated code reads parts of the
/// document again with `serde_json`, whose limit is 128 levels.
pub const MAX_DEPTH: usize = 120;

/// A value of a document, with its span.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The span of the value, with its brackets or quotes.
    pub span: Span,
    /// The value.
    pub value: NodeValue,
}

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number. Integers keep all their digits within the ranges of `u64` and `i64`.
    Number(serde_json::Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object, in the document's order, with each key once.
    Object(Vec<Entry>),
}

/// An entry of an object: a key with its span, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The span of the key.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Returns the value of a key, if this is an object that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns the entry of a key, if this is an object that has it.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.as_object()?.iter().find(|entry| entry.key == key)
    }

    /// Returns the entries, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&[Entry]> {
        match &self.value {
            NodeValue::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the entries, to change them, if this is an object.
    pub(crate) fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.value {
            NodeValue::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the items, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the node below this one to which the indices of entries and items lead, if there is
    /// one.
    pub(crate) fn at(&self, path: impl IntoIterator<Item = usize>) -> Option<&Node> {
        path.into_iter()
            .try_fold(self, |node, index| match &node.value {
                NodeValue::Object(entries) => Some(&entries.get(index)?.value),
                NodeValue::Array(items) => items.get(index),
                _ => None,
            })
    }

    /// Returns the node below this one to which the indices of entries and items lead, to change it.
    pub(crate) fn at_mut(&mut self, path: impl IntoIterator<Item = usize>) -> Option<&mut Node> {
        path.into_iter()
            .try_fold(self, |node, index| match &mut node.value {
                NodeValue::Object(entries) => Some(&mut entries.get_mut(index)?.value),
                NodeValue::Array(items) => items.get_mut(index),
                _ => None,
            })
    }

    /// Returns the value, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            NodeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value, if this is a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            NodeValue::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the number, if this is one.
    #[must_use]
    pub fn as_number(&self) -> Option<&serde_json::Number> {
        match &self.value {
            NodeValue::Number(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the number, if this is an integer of at least 0. It may be written `3.0`.
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

    /// Returns the kind of the value with its article, for messages.
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

    /// Returns the value without spans.
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
