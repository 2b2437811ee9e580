//! The ways in which `unevaluatedProperties` refuses an object: it has a property that does not fit, and
//! none of the parts that would evaluate the property applies.

use contract::model::{Keywords, SchemaId, SchemaKind};

use super::super::evaluated::{Evaluated, evaluated};
use super::super::facts::{Fact, Outside};
use super::{Alternatives, Atom, Schema, unclear};

/// The maximum number of schemas that are looked at for the properties that one schema evaluates.
const MOST_PARTS: usize = 2_000;
/// The deepest nesting of these schemas.
const MOST_DEPTH: usize = 20;
/// The maximum number of ways in which one property is not evaluated.
const MOST_WAYS: usize = 32;

/// What is left of the schemas that may be looked at.
struct Left {
    parts: usize,
    depth: usize,
}

impl Schema<'_, '_, '_> {
    /// Adds the ways in which `unevaluatedProperties`, which is the schema `id`, refuses an object.
    pub(super) fn unevaluated_ways(&self, id: SchemaId, ways: &mut Alternatives) {
        let contract = self.tableau.context.pair.contract(self.side);
        let (named, patterns, has_certain_patterns) = match evaluated(contract, self.keywords) {
            Evaluated::All => return,
            Evaluated::These {
                named,
                patterns,
                has_certain_patterns,
                ..
            } => (named, patterns, has_certain_patterns),
        };
        let literal = self.literal(id, false);
        let mut left = Left {
            parts: MOST_PARTS,
            depth: MOST_DEPTH,
        };
        let outside = Fact::Outside(Outside {
            named: named.clone(),
            patterns,
            literal,
        });
        let own = named.into_iter().map(|name| {
            let fact = Fact::Property(name.clone(), literal);
            (Some(name), fact)
        });
        for (name, fact) in std::iter::once((None, outside)).chain(own) {
            let Some(without) = self.without(self.keywords, name.as_deref(), &mut left) else {
                ways.push(unclear("`unevaluatedProperties`"));
                return;
            };
            ways.extend(without.into_iter().map(|mut way| {
                // The property first: most objects have none such.
                way.insert(0, Atom::Fact(fact.clone()));
                way
            }));
        }
        // Other names that a pattern matches, of a part that may not apply.
        if !has_certain_patterns {
            ways.push(unclear("`unevaluatedProperties`"));
        }
    }

    /// Returns the ways in which the keywords of a schema do not evaluate a property of an object that
    /// fits: the one with this name, or one that no part names. Returns `None` if they are too many.
    fn without(
        &self,
        keywords: &Keywords,
        name: Option<&str>,
        left: &mut Left,
    ) -> Option<Alternatives> {
        left.parts = left.parts.checked_sub(1)?;
        if self.evaluates(keywords, name, left.depth < MOST_DEPTH)? {
            return Some(Vec::new());
        }
        left.depth = left.depth.checked_sub(1)?;
        let mut all: Alternatives = vec![Vec::new()];
        for id in keywords.reference.iter().chain(&keywords.all_of) {
            all = both(all, &self.part(*id, name, left)?)?;
        }
        for id in keywords.any_of.iter().chain(&keywords.one_of) {
            all = both(all, &either(self.fails(*id), self.part(*id, name, left)?))?;
        }
        if let Some(condition) = keywords.if_schema {
            for id in std::iter::once(condition).chain(keywords.then_schema) {
                let without = self.part(id, name, left)?;
                all = both(all, &either(self.fails(condition), without))?;
            }
            if let Some(id) = keywords.else_schema {
                let without = self.part(id, name, left)?;
                all = both(all, &either(self.holds(condition), without))?;
            }
        }
        for (owner, id) in &keywords.dependent_schemas {
            let absent = Atom::Fact(Fact::Absent(owner.clone()));
            all = both(all, &either(absent, self.part(*id, name, left)?))?;
        }
        left.depth += 1;
        Some(all)
    }

    fn part(&self, id: SchemaId, name: Option<&str>, left: &mut Left) -> Option<Alternatives> {
        let contract = self.tableau.context.pair.contract(self.side);
        match &contract.schema(id).kind {
            SchemaKind::Object(keywords) => self.without(keywords, name, left),
            SchemaKind::Bool(_) => Some(vec![Vec::new()]),
        }
    }

    /// Returns whether keywords of a schema itself evaluate a property, or `None` if that is unclear.
    fn evaluates(&self, keywords: &Keywords, name: Option<&str>, is_part: bool) -> Option<bool> {
        if keywords.additional_properties.is_some()
            || (is_part && keywords.unevaluated_properties.is_some())
        {
            return Some(true);
        }
        let Some(name) = name else {
            return Some(false);
        };
        if keywords.properties.contains_key(name) {
            return Some(true);
        }
        for pattern in keywords.pattern_properties.keys() {
            if self.tableau.context.patterns.matches(pattern, name)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// Returns the ways in which an atom holds, or one of these ways.
fn either(atom: Atom, mut ways: Alternatives) -> Alternatives {
    if !ways.iter().any(Vec::is_empty) {
        ways.push(vec![atom]);
    }
    ways
}

/// Returns the ways in which one of some ways holds, and one of others, or `None` if they are too many.
fn both(one: Alternatives, other: &[Vec<Atom>]) -> Option<Alternatives> {
    if other.len() == 1 && other[0].is_empty() {
        return Some(one);
    }
    if one.len() * other.len() > MOST_WAYS {
        return None;
    }
    let pairs = one.iter().flat_map(|way| {
        other
            .iter()
            .map(move |more| way.iter().chain(more).cloned().collect())
    });
    Some(pairs.collect())
}
