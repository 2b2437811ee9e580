//! Writes a schema, or its negation, as what a value of one type must fulfil.

use contract::model::{Keywords, SchemaId, SchemaKind, Types};

use super::Reading;
use super::decimal::{Bound, Decimal};
use super::evaluate::integer_range;
use super::evaluated::{Evaluated, evaluated};
use super::facts::{Fact, ItemGroup, Outside, PropertyGroup, Rest, literals};
use super::literal::{Literal, Role};
use super::tableau::Tableau;
use super::value::Type;
use crate::pair::Side;

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
/// The maximum number of items of an array that one `contains` counts.
const MOST_CONTAINED: usize = 8;

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

    fn array_facts(&self, out: &mut Expansion) {
        let keywords = self.keywords;
        let mut facts: Vec<Fact> = Vec::new();
        facts.extend(keywords.min_items.map(Fact::MinItems));
        facts.extend(keywords.max_items.map(Fact::MaxItems));
        if keywords.unique_items {
            facts.push(Fact::Unique);
        }
        if !keywords.prefix_items.is_empty() || keywords.items.is_some() {
            facts.push(Fact::Items(ItemGroup {
                prefix: keywords
                    .prefix_items
                    .iter()
                    .map(|id| self.literal(*id, true))
                    .collect(),
                rest: keywords.items.map(|id| self.literal(id, true)),
            }));
        }
        if let Some(id) = keywords.contains {
            // `unevaluatedItems`, and more items than are counted, are left to the validation at the end.
            facts.push(match counted(keywords.min_contains.unwrap_or(1)) {
                Some(0) => Fact::MinItems(0),
                Some(1) => Fact::SomeItem(0, self.literal(id, true)),
                Some(least) => Fact::ManyItems(least, self.literal(id, true)),
                None => Fact::ManyItems(MOST_CONTAINED, self.literal(id, true)),
            });
            let most = keywords.max_contains.and_then(counted);
            facts.extend(most.map(|most| Fact::MostItems(most, self.literal(id, false))));
        }
        out.atoms.extend(facts.into_iter().map(Atom::Fact));
    }

    fn object_facts(&self, out: &mut Expansion) {
        let keywords = self.keywords;
        let mut facts: Vec<Fact> = Vec::new();
        facts.extend(keywords.min_properties.map(Fact::MinProperties));
        facts.extend(keywords.max_properties.map(Fact::MaxProperties));
        facts.extend(keywords.required.iter().cloned().map(Fact::Required));
        if self.is_sent() {
            facts.extend(keywords.required.iter().cloned().map(Fact::Sends));
        }
        facts.extend(keywords.unevaluated_properties.and_then(|id| self.rest(id)));
        if let Some(group) = self.properties() {
            facts.push(Fact::Properties(group));
        }
        let names = keywords.property_names;
        facts.extend(names.map(|id| Fact::EachName(self.literal(id, true))));
        for (name, others) in &keywords.dependent_required {
            facts.push(Fact::Dependent(name.clone(), others.clone()));
        }
        out.atoms.extend(facts.into_iter().map(Atom::Fact));
        // The second alternative says that the property is there, although it need not: so the two
        // exclude each other, and no value is searched for twice.
        for (name, id) in &keywords.dependent_schemas {
            out.alternatives.push(vec![
                vec![Atom::Fact(Fact::Absent(name.clone()))],
                vec![Atom::Fact(Fact::Required(name.clone())), self.holds(*id)],
            ]);
        }
    }

    fn properties(&self) -> Option<PropertyGroup> {
        let keywords = self.keywords;
        if keywords.properties.is_empty()
            && keywords.pattern_properties.is_empty()
            && keywords.additional_properties.is_none()
        {
            return None;
        }
        let named = |map: &indexmap::IndexMap<String, SchemaId>| {
            literals(
                map.iter().map(|(name, id)| {
                    (
                        name.clone(),
                        self.tableau.context.pair.class(self.side, *id),
                    )
                }),
                |class| Literal {
                    class,
                    role: self.role,
                    is_positive: true,
                },
            )
        };
        let is_sent = self.is_sent();
        let withheld = keywords
            .properties
            .iter()
            .filter(|(_, id)| is_sent && self.is_withheld(**id))
            .map(|(name, _)| name.clone());
        Some(PropertyGroup {
            named: named(&keywords.properties),
            patterns: named(&keywords.pattern_properties),
            rest: keywords
                .additional_properties
                .map(|id| self.literal(id, true)),
            is_sent,
            withheld: withheld.collect(),
        })
    }

    /// Returns what `unevaluatedProperties` says of an object that fits, or `None` if it concerns no
    /// property. Which branch evaluates a property is left to the validation at the end.
    fn rest(&self, id: SchemaId) -> Option<Fact> {
        let contract = self.tableau.context.pair.contract(self.side);
        let is_never = matches!(contract.schema(id).kind, SchemaKind::Bool(false));
        let is_sent = self.is_sent() && !is_never;
        let (beyond, is_certain) = match evaluated(contract, self.keywords) {
            Evaluated::All => return None,
            Evaluated::Unclear => (None, false),
            Evaluated::These {
                named,
                patterns,
                is_certain,
            } => {
                let literal = self.literal(id, true);
                let outside = Outside {
                    named,
                    patterns,
                    literal,
                };
                (Some(outside), is_certain)
            }
        };
        Some(Fact::Rest(Rest {
            beyond,
            is_certain,
            is_sent,
        }))
    }

    /// Returns whether a property is not sent in this direction: a read-only one in requests, a
    /// write-only one in responses.
    fn is_withheld(&self, id: SchemaId) -> bool {
        let contract = self.tableau.context.pair.contract(self.side);
        let reading = self.tableau.reading;
        contract.is_marked(id, |keywords| match reading {
            Reading::Request => keywords.read_only,
            Reading::Response => keywords.write_only,
            Reading::Exact => false,
        })
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

    fn array_ways(&self, ways: &mut Alternatives) {
        let keywords = self.keywords;
        let mut way = |fact: Fact| ways.push(vec![Atom::Fact(fact)]);
        // No list breaks `minItems: 0`.
        if let Some(min) = keywords.min_items.filter(|min| *min > 0) {
            way(Fact::MaxItems(min - 1));
        }
        if let Some(max) = keywords.max_items {
            way(Fact::MinItems(max.saturating_add(1)));
        }
        if keywords.unique_items {
            way(Fact::Repeated);
        }
        for (index, id) in keywords.prefix_items.iter().enumerate() {
            way(Fact::Item(index, self.literal(*id, false)));
        }
        if let Some(id) = keywords.items {
            way(Fact::SomeItem(
                keywords.prefix_items.len(),
                self.literal(id, false),
            ));
        }
        if let Some(id) = keywords.contains {
            match keywords.min_contains.unwrap_or(1) {
                // No array can fail this.
                0 => {}
                1 => way(Fact::EachItem(self.literal(id, false))),
                least => way(match counted(least - 1) {
                    Some(but) => Fact::MostItems(but, self.literal(id, false)),
                    None => Fact::Unclear("a large `minContains`"),
                }),
            }
            if let Some(most) = keywords.max_contains {
                way(match counted(most.saturating_add(1)) {
                    Some(count) => Fact::ManyItems(count, self.literal(id, true)),
                    None => Fact::Unclear("a large `maxContains`"),
                });
            }
        }
        if keywords.unevaluated_items.is_some() {
            way(Fact::Unclear("`unevaluatedItems`"));
        }
    }

    fn object_ways(&self, ways: &mut Alternatives) {
        let keywords = self.keywords;
        let mut way = |fact: Fact| ways.push(vec![Atom::Fact(fact)]);
        for name in &keywords.required {
            way(Fact::Absent(name.clone()));
        }
        for (name, id) in &keywords.properties {
            way(Fact::Property(name.clone(), self.literal(*id, false)));
        }
        for (pattern, id) in &keywords.pattern_properties {
            way(Fact::Matching(pattern.clone(), self.literal(*id, false)));
        }
        if let Some(id) = keywords.additional_properties {
            way(Fact::Outside(Outside {
                named: keywords.properties.keys().cloned().collect(),
                patterns: keywords.pattern_properties.keys().cloned().collect(),
                literal: self.literal(id, false),
            }));
        }
        if let Some(id) = keywords.property_names {
            way(Fact::SomeName(self.literal(id, false)));
        }
        if let Some(min) = keywords.min_properties.filter(|min| *min > 0) {
            way(Fact::MaxProperties(min - 1));
        }
        if let Some(max) = keywords.max_properties {
            way(Fact::MinProperties(max.saturating_add(1)));
        }
        if let Some(id) = keywords.unevaluated_properties {
            let contract = self.tableau.context.pair.contract(self.side);
            let unclear = Fact::Unclear("`unevaluatedProperties`");
            match evaluated(contract, keywords) {
                Evaluated::All => {}
                Evaluated::Unclear => way(unclear),
                Evaluated::These {
                    named,
                    patterns,
                    is_certain,
                } => {
                    let literal = self.literal(id, false);
                    way(Fact::Outside(Outside {
                        named,
                        patterns,
                        literal,
                    }));
                    if !is_certain {
                        way(unclear);
                    }
                }
            }
        }
        for (name, others) in &keywords.dependent_required {
            for other in others {
                ways.push(vec![
                    Atom::Fact(Fact::Required(name.clone())),
                    Atom::Fact(Fact::Absent(other.clone())),
                ]);
            }
        }
        for (name, id) in &keywords.dependent_schemas {
            ways.push(vec![
                Atom::Fact(Fact::Required(name.clone())),
                self.fails(*id),
            ]);
        }
    }
}

/// Returns a number of items that `contains` counts, or `None` if they are too many.
fn counted(count: u64) -> Option<usize> {
    let count = usize::try_from(count).ok();
    count.filter(|count| *count <= MOST_CONTAINED)
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

/// Returns what the bounds of a schema say about numbers, or `None` if they have too many digits.
pub(crate) fn number_facts(keywords: &Keywords) -> Option<Vec<Fact>> {
    let mut facts = Vec::new();
    let bound = |number: &serde_json::Number, is_exclusive: bool| {
        Some(Bound {
            at: Decimal::parse(number)?,
            is_exclusive,
        })
    };
    if let Some(number) = &keywords.minimum {
        facts.push(Fact::Low(bound(number, false)?));
    }
    if let Some(number) = &keywords.exclusive_minimum {
        facts.push(Fact::Low(bound(number, true)?));
    }
    if let Some(number) = &keywords.maximum {
        facts.push(Fact::High(bound(number, false)?));
    }
    if let Some(number) = &keywords.exclusive_maximum {
        facts.push(Fact::High(bound(number, true)?));
    }
    if let Some(number) = &keywords.multiple_of {
        facts.push(Fact::Multiple(Decimal::parse(number)?));
    }
    if let Some((low, high)) = integer_range(keywords) {
        let inclusive = |at| Bound {
            at,
            is_exclusive: false,
        };
        facts.push(Fact::Low(inclusive(low)));
        facts.push(Fact::High(inclusive(high)));
    }
    Some(facts)
}

fn opposite(fact: Fact) -> Fact {
    let flipped = |bound: Bound| Bound {
        at: bound.at,
        is_exclusive: !bound.is_exclusive,
    };
    match fact {
        Fact::Low(bound) => Fact::High(flipped(bound)),
        Fact::High(bound) => Fact::Low(flipped(bound)),
        Fact::Multiple(step) => Fact::NotMultiple(step),
        other => other,
    }
}

/// Returns the opposite of a fact about strings, or `None` if every string fulfils the fact.
fn text_opposite(fact: Fact) -> Option<Fact> {
    Some(match fact {
        Fact::MinLength(0) => return None,
        Fact::MinLength(min) => Fact::MaxLength(min - 1),
        Fact::MaxLength(max) => Fact::MinLength(max.saturating_add(1)),
        Fact::Pattern(pattern) => Fact::NotPattern(pattern),
        Fact::Format(format) => Fact::NotFormat(format),
        other => other,
    })
}
