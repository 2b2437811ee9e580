//! The whole document of a contract, as JSON that is made when somebody asks for it.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::node::{Node, NodeValue};
use crate::pointer;

/// The whole document as JSON, which it dereferences to.
///
/// Most commands read only parts of it: the JSON of a large document takes as much memory as all
/// schemas, so it is made at the first use. [`part`](Self::part) does not need it.
#[derive(Clone)]
pub struct Document {
    source: Source,
    value: OnceLock<Value>,
}

#[derive(Clone)]
enum Source {
    /// The nodes that were read.
    Node(Arc<Node>),
    /// A function that makes the JSON.
    Later(Arc<dyn Fn() -> Value + Send + Sync>),
}

impl Document {
    /// Returns the document with a root node.
    pub(crate) fn of(root: Node) -> Self {
        Self {
            source: Source::Node(Arc::new(root)),
            value: OnceLock::new(),
        }
    }

    /// Returns a document that a function makes at its first use.
    pub(crate) fn later(make: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self {
            source: Source::Later(Arc::new(make)),
            value: OnceLock::new(),
        }
    }

    /// Returns the whole document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        (**self).clone()
    }

    /// Returns the part of the document at a JSON pointer, if there is one.
    #[must_use]
    pub fn part(&self, pointer: &str) -> Option<Value> {
        match &self.source {
            Source::Node(root) => {
                if pointer.is_empty() {
                    return Some(self.to_json());
                }
                let mut tokens = pointer::tokens(pointer);
                let part = tokens.try_fold(&**root, |node, token| match &node.value {
                    NodeValue::Array(items) => items.get(token.parse::<usize>().ok()?),
                    _ => node.get(&token),
                });
                part.map(Node::to_json)
            }
            Source::Later(_) => self.pointer(pointer).cloned(),
        }
    }
}

impl Deref for Document {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| match &self.source {
            Source::Node(root) => root.to_json(),
            Source::Later(make) => make(),
        })
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}
