//! The lint `impossible-property`: properties that no object can have, because parts of an `allOf`
//! declare them in ways that exclude each other, or because keywords about all properties exclude them.

use std::collections::{BTreeMap, HashSet};

use contract::Diagnostic;
use contract::model::{Contract, Keywords, SchemaId, SchemaKind};

use crate::containment::Context;
use crate::pair::Side;

/// The maximum number of schemas whose properties are gathered for one `allOf`. Larger ones are not
/// checked.
const MOST_PARTS: usize = 200;

/// The maximum number of properties of a schema that are tried against its other keywords.
const MOST_NAMES: usize = 200;

/// The declarations of the properties of an object, by name.
type Properties<'c> = BTreeMap<&'c str, Vec<SchemaId>>;

/// Returns a diagnostic for each `allOf` with a property that no value fits, although each of its
/// declarations has values. If the property is required, nothing fits the whole, which is another
/// rule's.
pub(crate) fn impossible_properties(context: &Context<'_>) -> Vec<Diagnostic> {
    let contract = context.pair.contract(Side::Base);
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for (id, schema) in (0..).map(SchemaId).zip(&contract.schemas) {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        let limits = limits(keywords);
        if (keywords.all_of.is_empty() && limits.is_empty()) || !seen.insert(schema.span) {
            continue;
        }
        if !limits.is_empty() {
            let mut names = keywords.properties.iter().take(MOST_NAMES);
            let found = names.find(|(name, property)| {
                !context.is_impossible(**property) && context.excludes(id, name)
            });
            if let Some((name, _)) = found
                && !context.is_impossible(id)
            {
                let limits = limits.join("`, `");
                let message = format!(
                    "no object has `{name}`, although it is declared, because of `{limits}`"
                );
                let found = Diagnostic::warning("impossible-property", schema.span, message);
                out.push(found.help("correct one of them, or remove the property"));
                continue;
            }
        }
        let Some(name) = excluded(context, id) else {
            continue;
        };
        // What a part says alone is reported there.
        let mut parts = keywords.all_of.iter();
        if parts.any(|part| excluded(context, *part).is_some()) || context.is_impossible(id) {
            continue;
        }
        out.push(
            Diagnostic::warning(
                "impossible-property",
                schema.span,
                format!("no object has `{name}`: the parts of `allOf` that declare it exclude each other"),
            )
            .help("correct one of the declarations, or remove it"),
        );
    }
    out
}

/// Returns the keywords of a schema that can exclude properties that it declares.
fn limits(keywords: &Keywords) -> Vec<&'static str> {
    let all = [
        ("propertyNames", keywords.property_names.is_some()),
        ("patternProperties", !keywords.pattern_properties.is_empty()),
        ("dependentRequired", !keywords.dependent_required.is_empty()),
        ("dependentSchemas", !keywords.dependent_schemas.is_empty()),
    ];
    let there = all.into_iter().filter(|(_, is_there)| *is_there);
    there.map(|(name, _)| name).collect()
}

/// Returns the first property of a schema whose declarations exclude each other.
fn excluded<'c>(context: &Context<'c>, id: SchemaId) -> Option<&'c str> {
    let contract = context.pair.contract(Side::Base);
    let declared = declared(contract, id)?;
    let mut names = declared.into_iter();
    let (name, _) = names.find(|(_, all)| {
        let classes: HashSet<_> = all
            .iter()
            .map(|id| context.pair.class(Side::Base, *id))
            .collect();
        classes.len() > 1
            && all.iter().all(|id| !context.is_impossible(*id))
            && context.are_impossible(all)
    })?;
    Some(name)
}

/// Returns the properties that a schema and the parts of its `allOf` declare, or `None` if there are
/// too many parts.
fn declared(contract: &Contract, id: SchemaId) -> Option<Properties<'_>> {
    let mut pending = vec![id];
    let mut seen = HashSet::new();
    let mut found = Properties::new();
    while let Some(id) = pending.pop() {
        if seen.len() > MOST_PARTS {
            return None;
        }
        if seen.insert(id)
            && let SchemaKind::Object(keywords) = &contract.schema(id).kind
        {
            for (name, property) in &keywords.properties {
                found.entry(name).or_default().push(*property);
            }
            pending.extend(keywords.all_of.iter().chain(&keywords.reference));
        }
    }
    Some(found)
}
