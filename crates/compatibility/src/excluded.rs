//! The lint `impossible-property`: properties that parts of an `allOf` declare in ways that exclude
//! each other, so that no object can have them.

use std::collections::{BTreeMap, HashSet};

use contract::Diagnostic;
use contract::model::{Contract, SchemaId, SchemaKind};

use crate::containment::Context;
use crate::pair::Side;

/// The maximum number of schemas whose properties are gathered for one `allOf`. Larger ones are not
/// checked.
const MOST_PARTS: usize = 200;

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
        if keywords.all_of.is_empty() || !seen.insert(schema.span) {
            continue;
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
