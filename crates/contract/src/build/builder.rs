//! The state of building a contract, and the limit on what it copies.

use std::collections::{HashMap, HashSet, VecDeque};

use super::origins::{Origins, Role, ValueSite};
use crate::model::{Dialect, Schema, SchemaId};
use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::resolve::Resolver;

/// The state of building a contract from nodes. Each of the other files of this module adds the
/// methods that build one kind of object.
pub(super) struct Builder<'r, 'a> {
    pub(super) resolver: &'r Resolver<'a>,
    pub(super) dialect: Dialect,
    /// The schemas read so far, by id.
    pub(super) schemas: Vec<Schema>,
    /// The id of each schema, by the address of its node.
    pub(super) ids: HashMap<usize, SchemaId>,
    /// The ids of the schemas that were added for parameters that declare none, by the address of
    /// the parameter, or of the media type in its `content`.
    pub(super) untyped: HashMap<usize, SchemaId>,
    /// Schemas whose keywords have not been read yet. They are queued rather than read at once,
    /// since schemas nest and refer to each other without limit.
    pub(super) pending: VecDeque<(SchemaId, NodeRef<'a>)>,
    /// The nodes that the parts of the contract are read from.
    pub(super) origins: Origins<'a>,
    /// Addresses of parameters and media types whose examples have been recorded.
    pub(super) examples_seen: HashSet<usize>,
    /// The 3.0 schemas that became `anyOf` of themselves and null: the ids of these two branches,
    /// by the pointer of the schema. What was below the pointer is now below its `/anyOf/0`.
    pub(super) moved: HashMap<std::rc::Rc<str>, (SchemaId, SchemaId)>,
    /// The ids of the schemas with a discriminator.
    pub(super) discriminated: Vec<SchemaId>,
    /// What the data of one of several events holds, by the schema of the data.
    pub(super) event_contents: HashMap<SchemaId, SchemaId>,
    /// The number of bytes that may still be copied.
    pub(super) budget: u64,
    /// Addresses of the operations that are being built, outermost first. A callback may lead back
    /// to one of them.
    pub(super) callers: Vec<usize>,
}

impl<'a> Builder<'_, 'a> {
    /// Subtracts the length of a node's text from the number of bytes that may still be copied.
    /// Returns whether any are left.
    pub(super) fn charge(&mut self, node: &Node) -> bool {
        self.spend(node.span.end.saturating_sub(node.span.start) as usize);
        self.budget > 0
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        // One byte more than the text, so that empty parts are bounded as well.
        self.budget = self.budget.saturating_sub(bytes as u64 + 1);
    }

    /// Records the `example` and `examples` of a parameter or media type for validation, once for
    /// all its uses.
    pub(super) fn note_examples(&mut self, at: &NodeRef<'a>, schema: SchemaId) {
        if !self.examples_seen.insert(address(at.node)) {
            return;
        }
        let mut values: Vec<&'a Node> = at.node.get("example").into_iter().collect();
        if let Some(examples) = at.key("examples") {
            for (_, example) in examples.entries() {
                let target = self.resolver.follow(&example);
                values.extend(target.and_then(|target| {
                    let value = target.node.get("value");
                    value.or_else(|| target.node.get("dataValue"))
                }));
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
