//! What the values of a type are made of: its schemas, read once, each with the least number of parts
//! that one of its values has.
//!
//! A part is a value, such as an object, a property's value or an item, or the choice of an
//! alternative. Schemas may refer to themselves, so the least numbers are a fixpoint.

mod form;
mod types;

use std::collections::HashMap;

use serde_json::Value;

use super::source::Source;
pub(super) use form::{Array, Branch, Form, Object};

/// What stands for the least number of parts of a schema without values.
pub(super) const NONE: usize = usize::MAX;

/// The place of a schema in its plan.
pub(super) type Id = usize;

/// The schemas of a type, the first of which is its own.
#[derive(Debug)]
pub(super) struct Plan {
    nodes: Vec<Node>,
}

/// A schema.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) form: Form,
    /// The first of its examples.
    pub(super) example: Option<Value>,
    /// The least number of parts of a value, or [`NONE`].
    pub(super) least: usize,
}

impl Plan {
    /// Reads a schema and all that its values are made of.
    pub(super) fn of(source: &Source, schema: &Value) -> Self {
        let mut reader = Reader {
            source,
            ids: HashMap::new(),
            left: Vec::new(),
        };
        reader.id(schema);
        let mut nodes = Vec::new();
        while let Some(schema) = reader.left.get(nodes.len()).cloned() {
            nodes.push(reader.node(&schema));
        }
        let mut plan = Self { nodes };
        plan.settle();
        plan
    }

    /// Returns a schema.
    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// Returns the least number of parts of a value.
    pub(super) fn least(&self, id: Id) -> usize {
        self.nodes[id].least
    }

    /// Computes the least numbers of parts: first nothing has a value, and then each round finds
    /// smaller ones, until a round finds none.
    fn settle(&mut self) {
        loop {
            let mut is_settled = true;
            for id in 0..self.nodes.len() {
                let least = self.nodes[id].form.least(self);
                is_settled &= least >= self.nodes[id].least;
                self.nodes[id].least = least;
            }
            if is_settled {
                return;
            }
        }
    }
}

/// Reads schemas, each once.
struct Reader<'s> {
    source: &'s Source,
    /// The places of schemas, by their text.
    ids: HashMap<String, Id>,
    /// The schemas by their places, those that are still to be read at the end.
    left: Vec<Value>,
}

impl Reader<'_> {
    /// Returns the place of a schema.
    fn id(&mut self, schema: &Value) -> Id {
        let next = self.left.len();
        let id = *self.ids.entry(schema.to_string()).or_insert(next);
        if id == next {
            self.left.push(schema.clone());
        }
        id
    }

    fn node(&mut self, schema: &Value) -> Node {
        let keywords = self.source.keywords(schema);
        let example = keywords
            .as_ref()
            .and_then(|all| all.get("examples")?.get(0));
        let example = example.cloned();
        Node {
            form: keywords.map_or(Form::Nothing, |keywords| self.form(keywords)),
            example,
            least: NONE,
        }
    }
}
