//! The parts of two schemas that belong together.

use std::collections::HashSet;

use contract::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use indexmap::IndexMap;

use crate::containment::Context;
use crate::pair::Side;

/// The deepest nesting of `allOf` and references that is followed for properties.
const MOST_DEPTH: usize = 24;

/// The properties that a schema declares, by itself, by reference and by `allOf`.
#[derive(Debug, Default)]
pub(super) struct Declared {
    pub(super) properties: IndexMap<String, Vec<SchemaId>>,
    pub(super) required: HashSet<String>,
    /// Whether other properties are forbidden.
    pub(super) is_closed: bool,
    /// Whether properties may be declared in a way that is not collected here, or are not declared
    /// because they have no fixed names.
    pub(super) is_open: bool,
}

impl Declared {
    pub(super) fn of(contract: &Contract, id: SchemaId) -> Self {
        let mut declared = Self::default();
        declared.collect(contract, id, 0);
        declared
    }

    fn collect(&mut self, contract: &Contract, id: SchemaId, depth: usize) {
        let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
            self.is_open = true;
            return;
        };
        if depth > MOST_DEPTH {
            self.is_open = true;
            return;
        }
        for (name, id) in &keywords.properties {
            self.properties.entry(name.clone()).or_default().push(*id);
        }
        self.required.extend(keywords.required.iter().cloned());
        // Without a type, properties or parts, nothing is known of what objects hold.
        let is_blank = keywords.reference.is_none() && keywords.all_of.is_empty();
        self.is_open |= match keywords.types {
            Some(types) => !types.contains(Types::OBJECT),
            None => is_blank && keywords.properties.is_empty(),
        };
        self.is_open |= !keywords.any_of.is_empty()
            || !keywords.one_of.is_empty()
            || keywords.if_schema.is_some()
            || !keywords.dependent_schemas.is_empty()
            || !keywords.pattern_properties.is_empty()
            || keywords.additional_properties.is_some();
        let rest = [
            keywords.additional_properties,
            keywords.unevaluated_properties,
        ];
        self.is_closed |= rest
            .into_iter()
            .flatten()
            .any(|id| matches!(contract.schema(id).kind, SchemaKind::Bool(false)));
        for part in keywords.reference.iter().chain(&keywords.all_of) {
            self.collect(contract, *part, depth + 1);
        }
    }
}

/// What the schema of a part describes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The value itself, as a branch does.
    Same,
    /// A property, or its name.
    Property,
    /// An item.
    Item,
}

/// Parts of two schemas that belong together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub(super) base: SchemaId,
    pub(super) revision: SchemaId,
    pub(super) step: Step,
}

/// Returns the pairs of parts of two schemas that belong together: of properties with the same
/// name, of items, of branches with the same name, and so on.
pub(super) fn pairs(context: &Context<'_>, base: SchemaId, revision: SchemaId) -> Vec<Parts> {
    let (old, new) = (
        context.pair.contract(Side::Base),
        context.pair.contract(Side::Revision),
    );
    let (SchemaKind::Object(one), SchemaKind::Object(other)) =
        (&old.schema(base).kind, &new.schema(revision).kind)
    else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut add = |step: Step, pairs: Vec<(SchemaId, SchemaId)>| {
        out.extend(pairs.into_iter().map(|(base, revision)| Parts {
            base,
            revision,
            step,
        }));
    };
    let singles = [
        (Step::Item, one.items, other.items),
        (
            Step::Property,
            one.additional_properties,
            other.additional_properties,
        ),
        (
            Step::Property,
            one.unevaluated_properties,
            other.unevaluated_properties,
        ),
        (Step::Item, one.unevaluated_items, other.unevaluated_items),
        (Step::Property, one.property_names, other.property_names),
        (Step::Same, one.reference, other.reference),
    ];
    for (step, one, other) in singles {
        add(step, one.zip(other).into_iter().collect());
    }
    let items = one.prefix_items.iter().copied();
    let items = items.zip(other.prefix_items.iter().copied());
    add(Step::Item, items.collect());
    for (pattern, id) in &one.pattern_properties {
        let same = other.pattern_properties.get(pattern);
        add(
            Step::Property,
            same.map(|other| (*id, *other)).into_iter().collect(),
        );
    }
    add(Step::Same, branches(context, &one.all_of, &other.all_of));
    let (these, those) = (alternatives(one), alternatives(other));
    let same = match (these.is_empty(), those.is_empty()) {
        (false, false) => branches(context, &these, &those),
        // One side may be null as well, and the other one not.
        (true, false) => {
            let branch = only_other(new, &those);
            branch.map(|branch| (base, branch)).into_iter().collect()
        }
        (false, true) => {
            let branch = only_other(old, &these);
            let pair = branch.map(|branch| (branch, revision));
            pair.into_iter().collect()
        }
        (true, true) => Vec::new(),
    };
    add(Step::Same, same);
    let (declared, redeclared) = (Declared::of(old, base), Declared::of(new, revision));
    for (name, ids) in &declared.properties {
        let others = redeclared
            .properties
            .get(name)
            .map_or(&[][..], Vec::as_slice);
        // Several parts of an `allOf` can declare a property. Only as many on both sides are
        // paired.
        if ids.len() == others.len() {
            let same = ids.iter().copied().zip(others.iter().copied());
            add(Step::Property, same.collect());
        }
    }
    out
}

fn alternatives(keywords: &Keywords) -> Vec<SchemaId> {
    let branches = keywords.one_of.iter().chain(&keywords.any_of);
    branches.copied().collect()
}

/// Returns the only branch that is not null, if all others are.
fn only_other(contract: &Contract, branches: &[SchemaId]) -> Option<SchemaId> {
    let is_null = |id: &SchemaId| match &contract.schema(contract.resolve(*id)).kind {
        SchemaKind::Object(keywords) => keywords.types == Some(Types::NULL),
        SchemaKind::Bool(_) => false,
    };
    let mut others = branches.iter().copied().filter(|id| !is_null(id));
    let only = others.next()?;
    others.next().is_none().then_some(only)
}

/// Returns the pairs of branches: of the same class or component, then of what is left, if it is
/// the same number.
fn branches(
    context: &Context<'_>,
    these: &[SchemaId],
    those: &[SchemaId],
) -> Vec<(SchemaId, SchemaId)> {
    let pair = &context.pair;
    let mut left: Vec<SchemaId> = these.to_vec();
    let mut right: Vec<SchemaId> = those.to_vec();
    let mut out = Vec::new();
    let name = |side: Side, id: SchemaId| {
        let contract = pair.contract(side);
        contract.schema(pair.end(side, id)).component.clone()
    };
    left.retain(|one| {
        let class = pair.class(Side::Base, *one);
        let same = right
            .iter()
            .position(|id| pair.class(Side::Revision, *id) == class);
        same.map(|index| right.remove(index)).is_none()
    });
    left.retain(|one| {
        let Some(component) = name(Side::Base, *one) else {
            return true;
        };
        let same = right
            .iter()
            .position(|id| name(Side::Revision, *id).as_ref() == Some(&component));
        match same {
            Some(index) => {
                out.push((*one, right.remove(index)));
                false
            }
            None => true,
        }
    });
    if left.len() == right.len() {
        out.extend(left.into_iter().zip(right));
    }
    out
}
