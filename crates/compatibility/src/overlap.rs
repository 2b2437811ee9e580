//! The lint `overlapping-branches`: branches of a `oneOf` that accept the same value, so that the
//! `oneOf` rejects it.

use std::collections::HashSet;
use std::rc::Rc;

use contract::Diagnostic;
use contract::diagnostic::harmless;
use contract::model::{Contract, Keywords, SchemaId, SchemaKind};
use contract::source::Span;
use serde_json::Value;

use crate::containment::Context;
use crate::pair::Side;

/// The maximum number of branches of a `oneOf` that are compared with each other.
const MOST_BRANCHES: usize = 44;

/// The maximum number of characters of a value that a message shows.
const MOST_SHOWN: usize = 200;

/// Returns a diagnostic for each `oneOf` of a contract with two branches that accept one value, with
/// the value.
///
/// Only values count that somebody would send for one of the branches: with no properties but
/// those that the branch, or what is beside the `oneOf`, names. A `oneOf` with a discriminator has
/// none, because its property chooses the branch, nor has a branch that only says which properties
/// are required, because such branches exclude each other on purpose. What `found` reports as a
/// `duplicate-branch` is not reported again.
pub(crate) fn overlapping_branches(context: &Context<'_>, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let duplicates = found.iter().filter(|one| one.code == "duplicate-branch");
    let duplicates: HashSet<Span> = duplicates.map(|one| one.span).collect();
    let chosen = candidates(context.pair.contract(Side::Base));
    let found = chosen
        .iter()
        .filter_map(|(id, keywords)| first(context, &duplicates, *id, keywords));
    found.collect()
}

/// Returns the schemas with a `oneOf` whose branches should exclude each other, one for each place
/// in the document.
fn candidates(contract: &Contract) -> Vec<(SchemaId, &Keywords)> {
    let mut seen = HashSet::new();
    let schemas = (0..).map(SchemaId).zip(&contract.schemas);
    let chosen = schemas.filter_map(|(id, schema)| match &schema.kind {
        SchemaKind::Object(keywords) => Some((id, schema.span, &**keywords)),
        SchemaKind::Bool(_) => None,
    });
    chosen
        .filter(|(_, _, keywords)| {
            (2..=MOST_BRANCHES).contains(&keywords.one_of.len()) && keywords.discriminator.is_none()
        })
        // An alias of YAML and a copied path item make several schemas of one place.
        .filter(|(_, span, _)| seen.insert(*span))
        .map(|(id, _, keywords)| (id, keywords))
        .collect()
}

/// Returns the diagnostic of the first two branches of a `oneOf` that overlap.
fn first(
    context: &Context<'_>,
    duplicates: &HashSet<Span>,
    one_of: SchemaId,
    keywords: &Keywords,
) -> Option<Diagnostic> {
    let beside = Rc::new(Keywords {
        one_of: Vec::new(),
        ..keywords.clone()
    });
    let contract = context.pair.contract(Side::Base);
    let branches = &keywords.one_of;
    for (at, other) in branches.iter().enumerate() {
        if duplicates.contains(&contract.schema(*other).span) {
            continue;
        }
        for (before, one) in branches[..at].iter().enumerate() {
            if is_condition(contract, *one) || is_condition(contract, *other) {
                continue;
            }
            // Either branch may be the one that a sender means, with the properties that it names.
            let both = [(*one, *other), (*other, *one)];
            let mut values = both
                .into_iter()
                .filter_map(|pair| context.common(one_of, &beside, pair));
            let Some(value) = values.next() else {
                continue;
            };
            let [one_span, span] = [*one, *other].map(|id| contract.schema(id).span);
            let message = format!(
                "`oneOf` rejects what two of its branches accept: branches {} and {} both accept `{}`",
                before + 1,
                at + 1,
                shown(&value)
            );
            let help = "tell the branches apart, as by a required property with a `const`, or write `anyOf`";
            let diagnostic = Diagnostic::warning("overlapping-branches", span, message).help(help);
            return Some(diagnostic.related(one_span, "this branch accepts it too"));
        }
    }
    None
}

/// Returns whether a branch says nothing about a value but which properties it has.
fn is_condition(contract: &Contract, id: SchemaId) -> bool {
    const CONDITIONS: [&str; 8] = [
        "required",
        "dependentRequired",
        "minProperties",
        "maxProperties",
        "title",
        "description",
        "not",
        "type",
    ];
    let SchemaKind::Object(keywords) = &contract.schema(contract.resolve(id)).kind else {
        return false;
    };
    let has_parts = !keywords.properties.is_empty()
        || keywords.additional_properties.is_some()
        || !keywords.all_of.is_empty()
        || !keywords.any_of.is_empty()
        || !keywords.one_of.is_empty();
    let mut says = keywords.raw.iter();
    let is_bare = says.all(|(key, _)| CONDITIONS.contains(&&**key));
    let is_about_properties = !keywords.required.is_empty()
        || !keywords.dependent_required.is_empty()
        || keywords.not.is_some();
    is_about_properties && is_bare && !has_parts
}

/// Returns a value as a message shows it.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", harmless(&text[..end])),
        None => harmless(&text),
    }
}
