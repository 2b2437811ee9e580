//! Writes a schema, or its negation, as what a value of one type must fulfil. `arrays`, `objects` and
//! `scalars` have the keywords of one type, and `unevaluated` one that looks at all others.

mod arrays;
mod objects;
mod scalars;
mod unevaluated;

use contract::model::{Keywords, SchemaId, SchemaKind, Types};

use super::Reading;
use super::facts::Fact;
use super::literal::{Literal, Role};
use super::tableau::Tableau;
use super::value::Type;
use crate::pair::Side;
use scalars::{opposite, text_opposite};

pub(crate) use scalars::number_facts;

/// A schema that must hold or must not hold, or a fact.
#[derive(Debug, Clone)]
pub(crate) enum Atom {
    Literal(Literal),
    Fact(Fact),
}

/// Alternatives, of which one must hold. Each is a conjunction.
pub(crate) type Alternatives = Vec<Vec<Atom>>;

/// A literal in the terms of its parts: a conjunction, and alternatives that must all hold.
#[derive(Debug, Default)]
pub(crate) struct Expansion {
    pub(crate) atoms: Vec<Atom>,
    pub(crate) alternatives: Vec<Alternatives>,
}

/// The maximum number of pairs of branches of a `oneOf` that are looked at for a value that fits
/// both.
pub(super) const MOST_PAIRS: usize = 1000;
impl Tableau<'_, '_> {
    /// Returns what a literal says about values of a type, or `None` if none of them fulfils it.
    /// `beside` are the other literals that the value fulfils.
    pub(crate) fn expand(
        &self,
        literal: Literal,
        kind: Type,
        beside: &[Literal],
    ) -> Option<Expansion> {
        let (side, schema) = self.context.pair.member(literal.class);
        let keywords = match schema {
            SchemaKind::Bool(value) => {
                return (*value == literal.is_positive).then(Expansion::default);
            }
            SchemaKind::Object(keywords) => keywords,
        };
        let schema = Schema {
            tableau: self,
            side,
            keywords,
            role: literal.role,
        };
        if literal.is_positive {
            schema.positive(kind)
        } else {
            schema.negative(kind, beside)
        }
    }
}

impl Tableau<'_, '_> {
    /// Returns what the keywords of a sender, which are no schema of their own, say about values of
    /// a type, or `None` if none of them fulfils it.
    pub(crate) fn expand_sent(
        &self,
        side: Side,
        keywords: &Keywords,
        kind: Type,
    ) -> Option<Expansion> {
        let schema = Schema {
            tableau: self,
            side,
            keywords,
            role: Role::Sender,
        };
        schema.positive(kind)
    }
}

/// A schema that is expanded.
pub(super) struct Schema<'t, 'p, 'c> {
    pub(super) tableau: &'t Tableau<'p, 'c>,
    pub(super) side: Side,
    pub(super) keywords: &'t Keywords,
    pub(super) role: Role,
}

impl Schema<'_, '_, '_> {
    pub(super) fn literal(&self, id: SchemaId, is_positive: bool) -> Literal {
        Literal {
            class: self.tableau.context.pair.class(self.side, id),
            role: self.role,
            is_positive,
        }
    }

    pub(super) fn holds(&self, id: SchemaId) -> Atom {
        Atom::Literal(self.literal(id, true))
    }

    fn fails(&self, id: SchemaId) -> Atom {
        Atom::Literal(self.literal(id, false))
    }

    /// Returns whether the reader accepts values that an extensible enumeration does not list.
    fn is_open_enumeration(&self) -> bool {
        self.keywords.extensible
            && self.role == Role::Receiver
            && self.tableau.reading == Reading::Response
    }

    /// Returns whether the schema says which properties are sent.
    fn is_sent(&self) -> bool {
        self.role == Role::Sender && self.tableau.reading != Reading::Exact
    }

    fn positive(&self, kind: Type) -> Option<Expansion> {
        let keywords = self.keywords;
        let mut out = Expansion::default();
        let mut fact = |fact: Fact| out.atoms.push(Atom::Fact(fact));
        match type_facts(keywords, kind) {
            Typed::Never => return None,
            Typed::Always => {}
            Typed::If(of_type) => fact(of_type),
        }
        if let Some(values) = &keywords.enumeration {
            fact(Fact::Among(values.clone()));
        }
        if let Some(value) = &keywords.constant {
            fact(Fact::Among(vec![value.clone()]));
        }
        match kind {
            Type::Null | Type::Boolean => {}
            Type::Number => {
                // What is left out of a conjunction only lets more values through, and each value
                // is validated at the end.
                if let Some(facts) = number_facts(keywords) {
                    facts.into_iter().for_each(fact);
                }
            }
            Type::String => self.string_facts().into_iter().for_each(fact),
            Type::Array => self.array_facts(&mut out),
            Type::Object => self.object_facts(&mut out),
        }
        let everywhere = keywords.reference.iter().chain(&keywords.all_of);
        out.atoms.extend(everywhere.map(|id| self.holds(*id)));
        out.atoms.extend(keywords.not.map(|id| self.fails(id)));
        if !keywords.any_of.is_empty() {
            let branches = keywords.any_of.iter();
            let branches = branches.map(|id| vec![self.holds(*id)]);
            out.alternatives.push(branches.collect());
            // A value that fits several branches has the properties of all of them.
            if kind == Type::Object && self.is_sent() {
                let branches = keywords.any_of.iter();
                let may_hold = branches.map(|id| Fact::MayHold(self.literal(*id, true)));
                out.atoms.extend(may_hold.map(Atom::Fact));
            }
        }
        if !keywords.one_of.is_empty() {
            out.alternatives.push(self.exactly_one());
        }
        if let Some(condition) = keywords.if_schema {
            let then = keywords.then_schema.map(|id| self.holds(id));
            let other = keywords.else_schema.map(|id| self.holds(id));
            out.alternatives.push(vec![
                std::iter::once(self.holds(condition)).chain(then).collect(),
                std::iter::once(self.fails(condition))
                    .chain(other)
                    .collect(),
            ]);
        }
        Some(out)
    }

    fn exactly_one(&self) -> Alternatives {
        let ids = &self.keywords.one_of;
        if has_many_pairs(ids) {
            // This lets values through that fit several branches; each value is validated at the
            // end.
            return ids.iter().map(|id| vec![self.holds(*id)]).collect();
        }
        (0..ids.len())
            .map(|chosen| {
                // The chosen one first: most others then fail at once.
                let others = (0..ids.len()).filter(|other| *other != chosen);
                std::iter::once(self.holds(ids[chosen]))
                    .chain(others.map(|other| self.fails(ids[other])))
                    .collect()
            })
            .collect()
    }

    fn string_facts(&self) -> Vec<Fact> {
        let keywords = self.keywords;
        let format = keywords.format.clone();
        let format = format.filter(|format| self.tableau.context.formats.is_asserted(format));
        keywords
            .min_length
            .map(Fact::MinLength)
            .into_iter()
            .chain(keywords.max_length.map(Fact::MaxLength))
            .chain(keywords.pattern.clone().map(Fact::Pattern))
            .chain(format.map(Fact::Format))
            .collect()
    }

    /// Returns the negation: one of the keywords fails.
    fn negative(&self, kind: Type, beside: &[Literal]) -> Option<Expansion> {
        let keywords = self.keywords;
        let mut out = Expansion::default();
        // Each alternative makes one keyword fail.
        let mut ways: Alternatives = Vec::new();
        match type_facts(keywords, kind) {
            // Every value of the type fails already, so nothing more is asked of it.
            Typed::Never => return Some(out),
            Typed::Always => {}
            // The only such condition is that a number is an integer.
            Typed::If(_) => ways.push(vec![Atom::Fact(Fact::Fraction)]),
        }
        if let Some(values) = keywords
            .enumeration
            .as_ref()
            .filter(|_| !self.is_open_enumeration())
        {
            ways.push(vec![Atom::Fact(Fact::NotAmong(values.clone()))]);
        }
        if let Some(value) = &keywords.constant {
            ways.push(vec![Atom::Fact(Fact::NotAmong(vec![value.clone()]))]);
        }
        match kind {
            Type::Null | Type::Boolean => {}
            Type::Number => match number_facts(keywords) {
                Some(facts) => {
                    ways.extend(
                        facts
                            .into_iter()
                            .map(|fact| vec![Atom::Fact(opposite(fact))]),
                    );
                }
                None => ways.push(unclear("bounds with too many digits")),
            },
            Type::String => {
                let facts = self.string_facts().into_iter();
                ways.extend(facts.filter_map(|fact| Some(vec![Atom::Fact(text_opposite(fact)?)])));
            }
            Type::Array => self.array_ways(&mut ways),
            Type::Object => self.object_ways(&mut ways),
        }
        ways.extend(keywords.reference.map(|id| vec![self.fails(id)]));
        ways.extend(keywords.all_of.iter().map(|id| vec![self.fails(*id)]));
        ways.extend(keywords.not.map(|id| vec![self.holds(id)]));
        if !keywords.any_of.is_empty() {
            // `anyOf` fails only as a whole, so its branches are one way and not one each.
            ways.push(keywords.any_of.iter().map(|id| self.fails(*id)).collect());
        }
        if !keywords.one_of.is_empty() {
            self.not_exactly_one(&mut ways, beside);
        }
        if let Some(condition) = keywords.if_schema {
            let then = keywords.then_schema;
            ways.extend(then.map(|id| vec![self.holds(condition), self.fails(id)]));
            let other = keywords.else_schema;
            ways.extend(other.map(|id| vec![self.fails(condition), self.fails(id)]));
        }
        // No keyword can fail, so all values of the type fulfil the schema.
        if ways.is_empty() {
            return None;
        }
        out.alternatives.push(ways);
        Some(out)
    }

    fn not_exactly_one(&self, ways: &mut Alternatives, beside: &[Literal]) {
        let ids = &self.keywords.one_of;
        // Either no branch holds, or some two of them do.
        ways.push(ids.iter().map(|id| self.fails(*id)).collect());
        if has_many_pairs(ids) {
            match self.overlaps(beside) {
                Some(overlaps) => ways.extend(overlaps),
                None => ways.push(unclear("a `oneOf` with many branches")),
            }
            return;
        }
        for (index, one) in ids.iter().enumerate() {
            let others = ids[index + 1..].iter();
            ways.extend(others.map(|other| vec![self.holds(*one), self.holds(*other)]));
        }
    }
}

fn has_many_pairs(ids: &[SchemaId]) -> bool {
    ids.len() * ids.len() > 2 * MOST_PAIRS
}

fn unclear(why: &'static str) -> Vec<Atom> {
    vec![Atom::Fact(Fact::Unclear(why))]
}

/// Whether a schema accepts values of a type.
enum Typed {
    Never,
    Always,
    If(Fact),
}

fn type_facts(keywords: &Keywords, kind: Type) -> Typed {
    let Some(types) = keywords.types else {
        return Typed::Always;
    };
    if types.contains(kind.set()) {
        Typed::Always
    } else if kind == Type::Number && types.contains(Types::INTEGER) {
        Typed::If(Fact::Integer)
    } else {
        Typed::Never
    }
}
