//! Writes one schema with those that it refers to, as far as a few values need them.

use std::cell::RefCell;
use std::collections::HashSet;

use indexmap::IndexSet;
use serde_json::{Map, Value, json};

use super::{Ways, Writer};
use crate::model::{Contract, SchemaId};

/// Writes the schemas of a contract each by itself. Knows where references end, which takes a look at
/// all schemas once.
#[derive(Debug)]
pub struct Excerpts {
    ends: Vec<SchemaId>,
    /// Whether any schema has `unevaluatedProperties` or `unevaluatedItems`.
    has_ways: bool,
}

/// The references of an excerpt, in the order in which they were met.
pub(super) struct References<'n> {
    met: RefCell<IndexSet<SchemaId>>,
    names: Option<&'n HashSet<&'n str>>,
}

impl Excerpts {
    /// Returns the writer of the excerpts of a contract.
    #[must_use]
    pub fn of(contract: &Contract) -> Self {
        Self {
            ends: super::ends(contract),
            has_ways: contract.schemas.iter().any(Ways::are_followed),
        }
    }

    /// Returns the number of ways through the schemas beside `unevaluatedProperties` and
    /// `unevaluatedItems` that a validator of a schema follows, or `None` if they are more than `most`.
    #[must_use]
    pub fn ways(&self, contract: &Contract, id: SchemaId, most: usize) -> Option<usize> {
        if self.has_ways {
            Ways::of(contract).count(id, most)
        } else {
            Some(0)
        }
    }

    /// Returns a schema under `/$defs/0`, with all that it refers to beside it, and a reference to it at
    /// the top. A validator looks through all that it is given, and most of a bundle has nothing to do
    /// with one schema.
    ///
    /// With `names`, it is the schema of values whose properties have these names only: the entries of
    /// `properties` for others say nothing about them.
    #[must_use]
    pub fn excerpt(
        &self,
        contract: &Contract,
        id: SchemaId,
        names: Option<&HashSet<&str>>,
    ) -> Value {
        let references = References {
            met: RefCell::new(IndexSet::from([self.ends[id.index()]])),
            names,
        };
        let writer = Writer {
            contract,
            ends: Some(&self.ends),
            excerpt: Some(&references),
        };
        let mut definitions = Map::new();
        let mut next = 0;
        loop {
            let met = references.met.borrow().get_index(next).copied();
            let Some(id) = met else { break };
            definitions.insert(next.to_string(), writer.write(id));
            next += 1;
        }
        json!({ "$ref": "#/$defs/0", "$defs": definitions })
    }
}

impl References<'_> {
    /// Returns the reference to a schema, which the excerpt then has.
    pub(super) fn to(&self, id: SchemaId) -> String {
        let (index, _) = self.met.borrow_mut().insert_full(id);
        format!("#/$defs/{index}")
    }

    /// Returns whether a keyword says something about a property with a name that the values can have.
    pub(super) fn is_wanted(&self, keyword: &str, name: &str) -> bool {
        keyword != "properties" || self.names.is_none_or(|names| names.contains(name))
    }
}
