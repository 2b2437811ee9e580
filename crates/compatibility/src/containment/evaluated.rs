//! The properties that a schema evaluates, so that its `unevaluatedProperties` does not concern them.

use contract::model::{Contract, Keywords, SchemaKind};

/// The deepest nesting of `$ref` and `allOf` that is looked at.
const MOST_DEPTH: usize = 20;

/// The properties that a schema evaluates: their names, and patterns of names.
#[derive(Debug, Default)]
pub(super) struct Evaluated {
    pub(super) named: Vec<String>,
    pub(super) patterns: Vec<String>,
}

/// Returns the properties that a schema evaluates, or `None` if that depends on the value, as it does
/// with branches, or if all are evaluated.
pub(super) fn evaluated(contract: &Contract, keywords: &Keywords) -> Option<Evaluated> {
    let mut found = Evaluated::default();
    add(contract, keywords, 0, &mut found)?;
    Some(found)
}

fn add(contract: &Contract, keywords: &Keywords, depth: usize, into: &mut Evaluated) -> Option<()> {
    let depends = !keywords.any_of.is_empty()
        || !keywords.one_of.is_empty()
        || keywords.if_schema.is_some()
        || !keywords.dependent_schemas.is_empty()
        || keywords.additional_properties.is_some()
        || (depth > 0 && keywords.unevaluated_properties.is_some());
    if depends || depth > MOST_DEPTH {
        return None;
    }
    into.named.extend(keywords.properties.keys().cloned());
    let patterns = keywords.pattern_properties.keys();
    into.patterns.extend(patterns.cloned());
    for id in keywords.reference.iter().chain(&keywords.all_of) {
        if let SchemaKind::Object(part) = &contract.schema(*id).kind {
            add(contract, part, depth + 1, into)?;
        }
    }
    Some(())
}
