//! Objects that fit several branches of a sender's `anyOf`, and so have the properties of all of them.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use contract::model::SchemaKind;

use super::expand::{Atom, Expansion};
use super::outcome::Outcome;
use super::tableau::{Branch, Tableau};
use super::value::Type;
use crate::pair::Class;

/// The maximum number of further branches of `anyOf` that an object fits.
const MOST_JOINED: usize = 16;
/// The maximum number of schemas of a branch that are looked at for the properties that it names.
const MOST_PARTS: usize = 500;

/// The properties that a branch names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    names: BTreeSet<String>,
    /// Whether it may name others, by a pattern or by `additionalProperties`.
    is_open: bool,
}

impl Tableau<'_, '_> {
    /// Searches for an object that fulfils a conjunction, and if there is none, for one that fits
    /// further branches of an `anyOf`, whose properties are sent too.
    ///
    /// A further branch only asks for more, except that it names properties. So it is of use only if
    /// the search has met a property that no branch names.
    pub(super) fn joined(&self, branch: &Branch) -> Outcome {
        if branch.facts.objects.may_hold.is_empty() {
            return self.object(&branch.facts);
        }
        let before = self.unsent.take();
        let outcome = self.object(&branch.facts);
        let unsent = self.unsent.replace(before);
        if matches!(outcome, Outcome::Value(_)) || unsent.is_empty() {
            return outcome;
        }
        let mut unknown = match outcome {
            Outcome::Unknown(why) => Some(why),
            Outcome::Nothing | Outcome::Value(_) => None,
        };
        let mut of_use = branch.facts.objects.may_hold.clone();
        of_use.retain(|literal| {
            !branch.seen.contains(literal) && self.named(literal.class).has_any(&unsent)
        });
        if of_use.is_empty() {
            return outcome;
        }
        let mut rest = branch.clone();
        for literal in &of_use {
            // What fits this branch is searched now, so the next ones are tried without it.
            rest.facts.objects.may_hold.retain(|one| one != literal);
            if branch.joined >= MOST_JOINED {
                return Outcome::Unknown("objects that fit many branches of an `anyOf`");
            }
            let mut next = rest.clone();
            next.joined += 1;
            let chosen = Expansion {
                atoms: vec![Atom::Literal(*literal)],
                alternatives: Vec::new(),
            };
            if !self.add(&mut next, chosen, Type::Object) {
                continue;
            }
            match self.search(&next, Type::Object) {
                Outcome::Value(value) => return Outcome::Value(value),
                Outcome::Nothing => {}
                Outcome::Unknown(why) => unknown = Some(why),
            }
        }
        unknown.map_or(Outcome::Nothing, Outcome::Unknown)
    }

    /// Returns the properties that a schema names, by itself or by a part that may hold with it.
    pub(super) fn named(&self, class: Class) -> Rc<Named> {
        if let Some(known) = self.named.borrow().get(&class) {
            return Rc::clone(known);
        }
        let named = Rc::new(self.collect(class));
        self.named.borrow_mut().insert(class, Rc::clone(&named));
        named
    }

    fn collect(&self, class: Class) -> Named {
        let pair = &self.context.pair;
        let mut named = Named::default();
        let mut seen = HashSet::from([class]);
        let mut pending = vec![class];
        while let Some(class) = pending.pop() {
            let (side, SchemaKind::Object(keywords)) = pair.member(class) else {
                continue;
            };
            if seen.len() > MOST_PARTS {
                named.is_open = true;
                break;
            }
            named.names.extend(keywords.properties.keys().cloned());
            named.is_open |=
                !keywords.pattern_properties.is_empty() || keywords.additional_properties.is_some();
            let parts = keywords.reference.iter().chain(&keywords.all_of);
            let parts = parts.chain(&keywords.any_of).chain(&keywords.one_of);
            let parts = parts.chain(keywords.if_schema.iter());
            let parts = parts.chain(keywords.then_schema.iter());
            let parts = parts.chain(keywords.else_schema.iter());
            let parts = parts.chain(keywords.dependent_schemas.values());
            for part in parts {
                let class = pair.class(side, *part);
                if seen.insert(class) {
                    pending.push(class);
                }
            }
        }
        named
    }
}

impl Named {
    /// Returns the names.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }

    /// Returns whether some of these properties may be among those that are named.
    fn has_any(&self, names: &BTreeSet<String>) -> bool {
        self.is_open || names.iter().any(|name| self.names.contains(name))
    }
}
