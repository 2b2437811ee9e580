//! The keywords about objects.

use contract::model::{SchemaId, SchemaKind};

use super::super::Reading;
use super::super::evaluated::{Evaluated, evaluated};
use super::super::facts::{Fact, Outside, PropertyGroup, Rest, literals};
use super::super::literal::Literal;
use super::{Alternatives, Atom, Expansion, Schema};

impl Schema<'_, '_, '_> {
    pub(super) fn object_facts(&self, out: &mut Expansion) {
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
            Evaluated::These {
                may_be_all: true, ..
            } => (None, false),
            Evaluated::These {
                named,
                patterns,
                is_certain,
                ..
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

    pub(super) fn object_ways(&self, ways: &mut Alternatives) {
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
            self.unevaluated_ways(id, ways);
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
