//! The state of building a model, and the bound on what it copies.

use std::collections::{HashMap, HashSet, VecDeque};

use super::origins::{Origins, Role, ValueSite};
use crate::model::{Dialect, Schema, SchemaId};
use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::resolve::Resolver;

pub(super) struct Builder<'r, 'a> {
    pub(super) resolver: &'r Resolver<'a>,
    pub(super) dialect: Dialect,
    pub(super) schemas: Vec<Schema>,
    /// Schemas by the address of their node.
    pub(super) ids: HashMap<usize, SchemaId>,
    /// Schemas of parameters that have none, by the address of the parameter.
    pub(super) untyped: HashMap<usize, SchemaId>,
    /// Schemas whose keywords have not been read yet.
    pub(super) pending: VecDeque<(SchemaId, NodeRef<'a>)>,
    /// Where the parts of the model come from.
    pub(super) origins: Origins<'a>,
    /// Addresses of parameters and media types whose examples have been noted.
    pub(super) examples_seen: HashSet<usize>,
    /// Pointers below which everything has moved under `/anyOf/0`, because null stands beside it.
    pub(super) moved: HashMap<std::rc::Rc<str>, (SchemaId, SchemaId)>,
    /// Schemas with a discriminator.
    pub(super) discriminated: Vec<SchemaId>,
    pub(super) budget: u64,
    /// Operations being built, outermost first, by address: a callback may lead back to its caller.
    pub(super) callers: Vec<usize>,
}

impl<'a> Builder<'_, 'a> {
    /// Pays for a copy of what a node says; false when there have been too many.
    pub(super) fn pay(&mut self, node: &Node) -> bool {
        self.spend(node.span.end.saturating_sub(node.span.start) as usize);
        self.budget > 0
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes as u64 + 1);
    }

    /// Notes the `example` and `examples` of a parameter or media type, once however often it is used.
    pub(super) fn note_examples(&mut self, at: &NodeRef<'a>, schema: SchemaId) {
        if !self.examples_seen.insert(address(at.node)) {
            return;
        }
        let mut values: Vec<&'a Node> = at.node.get("example").into_iter().collect();
        if let Some(examples) = at.key("examples") {
            for (_, example) in examples.entries() {
                let target = self.resolver.follow(&example);
                values.extend(target.and_then(|target| target.node.get("value")));
            }
        }
        self.origins
            .values
            .extend(values.into_iter().map(|node| ValueSite {
                schema,
                node,
                role: Role::Example,
            }));
    }
}
