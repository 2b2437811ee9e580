//! The branches of a large `oneOf` that a value may fit at once. Of a small one, all pairs are searched.

use std::collections::{HashMap, HashSet};

use contract::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use serde_json::Value;

use super::Reading;
use super::expand::{Alternatives, Atom, MOST_PAIRS, Schema};
use super::literal::{Literal, Role};
use super::value::is_equal;
use crate::pair::Class;

/// The maximum number of branches of which all pairs are looked at.
const MOST_BRANCHES: usize = 1000;
/// The maximum number of references and parts of `allOf` of a branch that are followed for the values of
/// properties.
const MOST_PARTS: usize = 50;
/// The maximum number of references that are followed for the values of a property.
const MOST_DEPTH: usize = 8;
/// The maximum number of values that a property may have for them to be compared.
const MOST_VALUES: usize = 20;
/// The maximum number of schemas of a branch in which an extensible enumeration is looked for.
const MOST_SCHEMAS: usize = 1000;

/// What is certain of the objects of a branch.
#[derive(Default)]
struct Certain<'c> {
    types: Option<Types>,
    required: HashSet<&'c str>,
    /// The only values that properties may have.
    values: HashMap<&'c str, Vec<&'c Value>>,
}

impl Schema<'_, '_, '_> {
    /// Returns the pairs of branches that a value may fit at once, or `None` if they are too many.
    ///
    /// A value that is sent by a `oneOf` fits one of its branches and no other. So it fits no two
    /// branches of the receiver that mean the same as two of the sender, and of a pair with one such
    /// branch it is certain by which branch it is sent.
    pub(super) fn overlaps(&self, beside: &[Literal]) -> Option<Alternatives> {
        let ids = &self.keywords.one_of;
        if ids.len() > MOST_BRANCHES {
            return None;
        }
        let pair = &self.tableau.context.pair;
        let contract = pair.contract(self.side);
        let classes: Vec<Class> = ids.iter().map(|id| pair.class(self.side, *id)).collect();
        let sent = self.sent(beside);
        let is_lenient = self.role == Role::Receiver && self.tableau.reading == Reading::Response;
        let is_sent: Vec<bool> = ids
            .iter()
            .zip(&classes)
            .map(|(id, class)| sent.contains(class) && !(is_lenient && is_open(contract, *id)))
            .collect();
        // A branch of the sender that the receiver does not have: no other branch is sent with it.
        let changed: Vec<Class> = sent
            .iter()
            .filter(|class| !classes.contains(class))
            .copied()
            .collect();
        let certain: Vec<Certain<'_>> = ids
            .iter()
            .map(|id| {
                let mut certain = Certain::default();
                certain.collect(contract, *id, is_lenient);
                certain
            })
            .collect();
        let mut out = Alternatives::new();
        for one in 0..ids.len() {
            for other in one + 1..ids.len() {
                let is_excluded = is_sent[one] && is_sent[other] && classes[one] != classes[other];
                if is_excluded || certain[one].excludes(&certain[other]) {
                    continue;
                }
                if out.len() >= MOST_PAIRS {
                    return None;
                }
                let mut atoms = vec![self.holds(ids[one]), self.holds(ids[other])];
                let by = [one, other].into_iter().find(|at| is_sent[*at]);
                if let Some(by) = by {
                    let of = |class, is_positive| {
                        Atom::Literal(Literal {
                            class,
                            role: Role::Sender,
                            is_positive,
                        })
                    };
                    atoms.push(of(classes[by], true));
                    atoms.extend(changed.iter().map(|class| of(*class, false)));
                }
                out.push(atoms);
            }
        }
        Some(out)
    }

    /// Returns the branches of a `oneOf` by which the value is sent, or none if it is not.
    fn sent(&self, beside: &[Literal]) -> HashSet<Class> {
        let pair = &self.tableau.context.pair;
        for literal in beside {
            if !literal.is_positive || literal.role != Role::Sender {
                continue;
            }
            let (side, schema) = pair.member(literal.class);
            let SchemaKind::Object(keywords) = schema else {
                continue;
            };
            if !keywords.one_of.is_empty() {
                let ids = keywords.one_of.iter();
                return ids.map(|id| pair.class(side, *id)).collect();
            }
        }
        HashSet::new()
    }
}

impl<'c> Certain<'c> {
    /// Collects what is certain of a branch. What is beyond the bound only makes less certain.
    fn collect(&mut self, contract: &'c Contract, id: SchemaId, is_lenient: bool) {
        let mut seen = HashSet::new();
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            if seen.len() < MOST_PARTS
                && seen.insert(id)
                && let SchemaKind::Object(keywords) = &contract.schema(id).kind
            {
                self.add(contract, keywords, is_lenient);
                pending.extend(keywords.reference.iter().chain(&keywords.all_of));
            }
        }
    }

    fn add(&mut self, contract: &'c Contract, keywords: &'c Keywords, is_lenient: bool) {
        self.types = match (self.types, keywords.types) {
            (Some(one), Some(other)) => Some(both(one, other)),
            (one, other) => one.or(other),
        };
        self.required
            .extend(keywords.required.iter().map(String::as_str));
        for (name, id) in &keywords.properties {
            if let Some(values) = listed(contract, *id, is_lenient, 0) {
                self.values.entry(name).or_insert(values);
            }
        }
    }

    /// Returns whether it is certain that no value fits two branches: their types differ, or a property
    /// that one of them requires cannot have a value that both allow.
    fn excludes(&self, other: &Self) -> bool {
        let types = match (self.types, other.types) {
            (Some(one), Some(other)) => both(one, other),
            (one, other) => match one.or(other) {
                Some(types) => types,
                None => return false,
            },
        };
        if types.is_empty() {
            return true;
        }
        let is_required =
            |name: &str| self.required.contains(name) || other.required.contains(name);
        types == Types::OBJECT
            && self.values.iter().any(|(name, ours)| {
                let theirs = other.values.get(name).filter(|_| is_required(name));
                theirs.is_some_and(|theirs| {
                    !ours
                        .iter()
                        .any(|one| theirs.iter().any(|value| is_equal(one, value)))
                })
            })
    }
}

/// Returns the types that two sets have in common. An integer is a number too.
fn both(one: Types, other: Types) -> Types {
    let whole = |types: Types| {
        if types.contains(Types::NUMBER) {
            types.with(Types::INTEGER)
        } else {
            types
        }
    };
    let (one, other) = (whole(one), whole(other));
    one.without(one.without(other))
}

/// Returns the only values that fit a schema, if they are listed.
fn listed(
    contract: &Contract,
    id: SchemaId,
    is_lenient: bool,
    depth: usize,
) -> Option<Vec<&Value>> {
    let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
        return None;
    };
    if let Some(value) = &keywords.constant {
        return Some(vec![value]);
    }
    let is_open = is_lenient && keywords.extensible;
    if let Some(values) = keywords.enumeration.as_ref().filter(|_| !is_open) {
        return (values.len() <= MOST_VALUES).then(|| values.iter().collect());
    }
    let part = keywords.reference.filter(|_| depth < MOST_DEPTH)?;
    listed(contract, part, is_lenient, depth + 1)
}

/// Returns whether a schema or a part of it has an extensible enumeration, of which a lenient reader
/// accepts other values.
fn is_open(contract: &Contract, id: SchemaId) -> bool {
    let mut seen = HashSet::from([id]);
    let mut pending = vec![id];
    while let Some(id) = pending.pop() {
        let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
            continue;
        };
        if keywords.extensible || seen.len() > MOST_SCHEMAS {
            return true;
        }
        let mut add = |part| {
            if seen.insert(part) {
                pending.push(part);
            }
        };
        keywords.for_each_child(&mut add);
        keywords.reference.into_iter().for_each(add);
    }
    false
}
