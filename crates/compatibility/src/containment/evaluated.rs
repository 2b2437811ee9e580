//! The properties that a schema evaluates, so that its `unevaluatedProperties` does not concern them.

use std::collections::{BTreeSet, HashSet};

use contract::model::{Contract, Keywords, SchemaId, SchemaKind};

/// The deepest nesting of schemas that is looked at.
const MOST_DEPTH: usize = 20;

/// What a schema evaluates of an object, beside its `unevaluatedProperties`.
#[derive(Debug)]
pub(super) enum Evaluated {
    /// Every property.
    All,
    /// At most the properties with these names, or whose names match one of these patterns.
    These {
        named: Vec<String>,
        patterns: Vec<String>,
        /// Whether all of these are evaluated in every object. Those of branches are only in some.
        is_certain: bool,
        /// Whether those that match a pattern are.
        has_certain_patterns: bool,
        /// Whether every property is evaluated in some objects.
        may_be_all: bool,
    },
}

/// Returns what a schema evaluates.
pub(super) fn evaluated(contract: &Contract, keywords: &Keywords) -> Evaluated {
    let mut collected = Collected::default();
    collected.add(contract, keywords, 0, true);
    if collected.is_all {
        Evaluated::All
    } else {
        Evaluated::These {
            named: collected.named.into_iter().collect(),
            patterns: collected.patterns.into_iter().collect(),
            is_certain: !collected.is_conditional,
            has_certain_patterns: !collected.has_conditional_patterns,
            may_be_all: collected.may_be_all,
        }
    }
}

#[derive(Default)]
struct Collected {
    named: BTreeSet<String>,
    patterns: BTreeSet<String>,
    /// The parts that were added, and whether of every object.
    seen: HashSet<(SchemaId, bool)>,
    is_all: bool,
    may_be_all: bool,
    is_conditional: bool,
    has_conditional_patterns: bool,
}

impl Collected {
    /// Adds what a schema evaluates: of every object, or only of objects that fit a branch.
    fn add(&mut self, contract: &Contract, keywords: &Keywords, depth: usize, is_always: bool) {
        let takes_all = keywords.additional_properties.is_some()
            || (depth > 0 && keywords.unevaluated_properties.is_some());
        if depth > MOST_DEPTH {
            self.may_be_all = true;
            return;
        }
        if takes_all && is_always {
            self.is_all = true;
            return;
        }
        self.may_be_all |= takes_all;
        self.has_conditional_patterns |= !is_always && !keywords.pattern_properties.is_empty();
        let has_names = !keywords.properties.is_empty() || !keywords.pattern_properties.is_empty();
        self.is_conditional |= has_names && !is_always;
        self.named.extend(keywords.properties.keys().cloned());
        self.patterns
            .extend(keywords.pattern_properties.keys().cloned());
        let mut part = |id: SchemaId, is_always| {
            if self.seen.insert((id, is_always))
                && let SchemaKind::Object(part) = &contract.schema(id).kind
            {
                self.add(contract, part, depth + 1, is_always);
            }
        };
        for id in keywords.reference.iter().chain(&keywords.all_of) {
            part(*id, is_always);
        }
        let branches = keywords.any_of.iter().chain(&keywords.one_of);
        let conditions = [
            keywords.if_schema,
            keywords.then_schema,
            keywords.else_schema,
        ];
        let conditions = conditions.iter().flatten();
        for id in branches
            .chain(conditions)
            .chain(keywords.dependent_schemas.values())
        {
            part(*id, false);
        }
    }
}
