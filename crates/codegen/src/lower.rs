//! Lowers a contract to the [`ir`](crate::ir), which decides every name and every type once.
//!
//! A schema is first flattened: `flatten` merges its references and its `allOf` into one
//! conjunction of keywords. `form` then chooses the tightest Rust form that can hold every value of
//! the conjunction, and `schema` gives the form a name if it needs one. Where the Rust form accepts
//! more than the schema does, the item has the pointer of a compiled check, so that exactly the
//! schema's values are accepted.

mod collection;
mod enumeration;
mod error;
mod flatten;
mod form;
mod integer;
mod lowering;
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

use std::collections::HashSet;
use std::sync::OnceLock;

use contract::Contract;

use self::lowering::Lowering;
use crate::ir::{Api, CrateNames, Operation, Tag, TypeDef, TypeKind, TypeRef};
use crate::names;

/// Lowers a contract to the IR. The names of the generated crates begin with `prefix`.
#[must_use]
pub fn lower<'c>(contract: &'c Contract, prefix: &str) -> Api<'c> {
    lower_both(contract, None, prefix).0
}

/// Lowers a contract and its [reverse](contract::reversed), the contract of its webhooks and
/// callbacks. Both APIs have the same types.
///
/// # Panics
///
/// Panics only on a fault of the lowering itself, never because of what the contract says.
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
        .map(|slot| slot.expect("every reserved slot is filled or released"))
        .collect();
    // What follows looks at all items at once, so it has to wait until each exists.
    name_required_fields(&mut types);
    recursion::break_cycles(&mut types);
    let others = if reversed.is_some() {
        directions.pop()
    } else {
        None
    };
    let own = directions
        .pop()
        .expect("the contract itself is always lowered");
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

/// The tags and operations of one direction: the contract's own, or its webhooks and callbacks.
struct Direction<'c> {
    contract: &'c Contract,
    tags: Vec<Tag>,
    operations: Vec<Operation>,
}

impl<'c> Direction<'c> {
    /// Returns the API of this direction, with the types that both directions share.
    fn api(self, names: CrateNames, types: Vec<TypeDef>, error: Option<TypeRef>) -> Api<'c> {
        let Self {
            contract,
            tags,
            mut operations,
        } = self;
        // After the types are marked, since the header has one of them.
        let request_id = operation::take_request_id(contract, &mut operations);
        Api {
            contract,
            names,
            security: security::security_schemes(contract),
            tags,
            types,
            operations,
            error,
            request_id,
            checks: OnceLock::new(),
        }
    }
}

/// Chooses a name for the struct of an object's required fields, where another item is called
/// `…Fields`, which is the default.
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

impl<'c> Lowering<'c> {
    /// Lowers every component.
    ///
    /// All components get their names before any inline schema does, so that an added operation,
    /// which can have inline schemas of any name, renames no component.
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
        // A second pass, since a component may refer to one that is declared after it.
        for (component, id) in &self.contract.components {
            let (type_id, name) = self.reserved[id].clone();
            let kind = self.component_kind(*id, &name);
            self.finish(type_id, name, *id, Some(component.clone()), kind);
        }
    }

    /// Lowers the tags and operations of one direction.
    fn direction(&mut self, contract: &'c Contract, names: &CrateNames) -> Direction<'c> {
        let tags = tag::tags(contract, names);
        let operations = operation::operations(self, contract, &tags);
        Direction {
            contract,
            tags,
            operations,
        }
    }
}
