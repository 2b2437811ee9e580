//! From the contract to [`ir`](crate::ir): every name and every type is decided here, once.
//!
//! A schema is first flattened (`flatten`: references and `allOf` become one conjunction), then given the
//! tightest Rust form that can hold every value it accepts (`schema`, `union`). Where that form alone would
//! accept more than the schema does, it carries the pointer of a compiled check, so that what is accepted
//! is always exactly what the contract says.

mod collection;
mod enumeration;
mod error;
mod flatten;
mod form;
mod integer;
mod object;
mod operation;
mod reach;
mod recursion;
mod reference;
mod scalar;
mod schema;
mod security;
mod tag;
mod union;

use std::collections::{BTreeSet, HashMap, HashSet};

use contract::Contract;
use contract::model::{Dialect, SchemaId};

use crate::ir::{Api, CrateNames, Operation, Tag, TypeDef, TypeId, TypeKind, TypeRef};
use crate::names;

/// Decides every Rust name and type of a contract. `prefix` names the crates.
#[must_use]
pub fn lower<'c>(contract: &'c Contract, prefix: &str) -> Api<'c> {
    lower_both(contract, None, prefix).0
}

/// The same for a contract and its [reverse](contract::reversed), which share their types.
///
/// # Panics
///
/// Never: an item that is begun is finished, whatever the document.
#[must_use]
pub fn lower_both<'c>(
    contract: &'c Contract,
    reversed: Option<&'c Contract>,
    prefix: &str,
) -> (Api<'c>, Option<Api<'c>>) {
    let names = |is_reversed| CrateNames {
        prefix: prefix.to_owned(),
        is_reversed,
    };
    let mut lowering = Lowering::new(contract);
    lowering.components();
    let mut directions: Vec<Direction<'c>> = [Some(contract), reversed]
        .into_iter()
        .flatten()
        .map(|contract| lowering.direction(contract, &names(false)))
        .collect();
    let mut types: Vec<TypeDef> = lowering
        .types
        .into_iter()
        .map(|slot| slot.expect("every item that was begun is finished"))
        .collect();
    name_required_fields(&mut types);
    recursion::break_cycles(&mut types);
    let others = if reversed.is_some() {
        directions.pop()
    } else {
        None
    };
    let own = directions.pop().expect("the contract itself is the first");
    let error = error::shared_error(&types, &own.operations);
    let events = others
        .as_ref()
        .map(|direction| direction.operations.as_slice())
        .unwrap_or_default();
    reach::mark(&mut types, &own.operations, events, error.as_ref());
    let others = others.map(|direction| {
        let error = error::shared_error(&types, &direction.operations);
        direction.api(names(true), types.clone(), error)
    });
    (own.api(names(false), types, error), others)
}

/// The operations of one direction.
struct Direction<'c> {
    contract: &'c Contract,
    tags: Vec<Tag>,
    operations: Vec<Operation>,
}

impl<'c> Direction<'c> {
    fn api(self, names: CrateNames, types: Vec<TypeDef>, error: Option<TypeRef>) -> Api<'c> {
        let Self {
            contract,
            tags,
            operations,
        } = self;
        Api {
            contract,
            names,
            security: security::security_schemes(contract),
            tags,
            types,
            operations,
            error,
        }
    }
}

/// The struct of an object's required fields is called `…Fields`, unless the contract calls something else that.
fn name_required_fields(types: &mut [TypeDef]) {
    let mut taken: HashSet<String> = types.iter().map(|def| def.name.clone()).collect();
    for def in types {
        if let TypeKind::Object(object) = &mut def.kind
            && taken.contains(&format!("{}Fields", def.name))
        {
            object.fields_name = Some(names::unique(
                &mut taken,
                format!("{}RequiredFields", def.name),
            ));
        }
    }
}

/// The state of one lowering.
struct Lowering<'c> {
    contract: &'c Contract,
    /// Items by [`TypeId`]; none while one is being made.
    types: Vec<Option<TypeDef>>,
    /// What a schema has become.
    lowered: HashMap<SchemaId, TypeRef>,
    /// The item reserved for each component.
    reserved: HashMap<SchemaId, (TypeId, String)>,
    /// Names of items in use.
    taken: HashSet<String>,
}

impl<'c> Lowering<'c> {
    fn new(contract: &'c Contract) -> Self {
        Self {
            contract,
            types: Vec::new(),
            lowered: HashMap::new(),
            reserved: HashMap::new(),
            taken: HashSet::new(),
        }
    }

    /// Components take their names before any inline schema does, so that adding an operation renames none.
    fn components(&mut self) {
        let wanted: Vec<_> = self
            .contract
            .components
            .iter()
            .map(|(name, _)| (name.as_str(), names::pascal(name)))
            .collect();
        let names = names::unique_all(&mut self.taken, &wanted);
        for ((_, id), rust) in self.contract.components.iter().zip(names) {
            let type_id = self.reserve_slot();
            self.reserved.insert(*id, (type_id, rust));
            self.lowered.insert(*id, TypeRef::Named(type_id));
        }
        for (component, id) in &self.contract.components {
            let (type_id, name) = self.reserved[id].clone();
            let kind = self.component_kind(*id, &name);
            self.finish(type_id, name, *id, Some(component.clone()), kind);
        }
    }

    fn direction(&mut self, contract: &'c Contract, names: &CrateNames) -> Direction<'c> {
        let tags = tag::tags(contract, names);
        let operations = operation::operations(self, contract, &tags);
        Direction {
            contract,
            tags,
            operations,
        }
    }

    /// Reserves a slot for an item.
    fn reserve_slot(&mut self) -> TypeId {
        self.types.push(None);
        TypeId(self.types.len() - 1)
    }

    fn finish(
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
            tags: BTreeSet::new(),
            in_request: false,
            in_response: false,
            kind,
        });
    }

    /// Whether a schema without `type` means the type that its keywords speak of.
    ///
    /// Documents of 3.0 leave `type: object` out by habit, and the dialect's own examples do; under 3.1
    /// a schema means exactly what JSON Schema says.
    fn implies_types(&self) -> bool {
        self.contract.dialect == Dialect::V30
    }
}
