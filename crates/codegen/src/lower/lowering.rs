//! The state of a lowering: the items that it has made, and the names that they have taken.

use std::collections::{BTreeSet, HashMap, HashSet};

use contract::Contract;
use contract::model::{Dialect, SchemaId};

use crate::ir::{TypeDef, TypeId, TypeKind, TypeRef};

/// The state of one lowering.
pub(super) struct Lowering<'c> {
    /// The contract that is lowered.
    pub(super) contract: &'c Contract,
    /// The items by [`TypeId`]; `None` while an item is being made.
    pub(super) types: Vec<Option<TypeDef>>,
    /// The type of each schema that has been lowered, or of which the lowering has begun.
    pub(super) lowered: HashMap<SchemaId, TypeRef>,
    /// The slot and the name reserved for each component.
    pub(super) reserved: HashMap<SchemaId, (TypeId, String)>,
    /// The names that items have taken.
    pub(super) taken: HashSet<String>,
}

impl<'c> Lowering<'c> {
    /// Creates the state of a lowering that has made nothing yet.
    pub(super) fn new(contract: &'c Contract) -> Self {
        Self {
            contract,
            types: Vec::new(),
            lowered: HashMap::new(),
            reserved: HashMap::new(),
            taken: HashSet::new(),
        }
    }

    /// Reserves the slot of an item, so that other types can refer to it before it is made.
    pub(super) fn reserve_slot(&mut self) -> TypeId {
        self.types.push(None);
        TypeId(self.types.len() - 1)
    }

    /// Fills a slot with its item.
    pub(super) fn finish(
        &mut self,
        id: TypeId,
        name: String,
        schema: SchemaId,
        component: Option<String>,
        kind: TypeKind,
    ) {
        self.types[id.0] = Some(TypeDef {
            name,
            schema,
            component,
            // `reach` sets these three when all operations are known.
            tags: BTreeSet::new(),
            in_request: false,
            in_response: false,
            kind,
        });
    }

    /// Returns whether a schema without `type` has the type that its keywords constrain.
    ///
    /// Documents of 3.0 often leave out `type: object`, as the examples of the specification do.
    /// Under 3.1 a schema means exactly what JSON Schema says: keywords of objects accept every
    /// string.
    pub(super) fn implies_types(&self) -> bool {
        self.contract.dialect == Dialect::V30
    }
}
