//! Finds schemas that accept no value, where only a search shows it: a `pattern` whose matches are all
//! longer than `maxLength`, bounds without an integer between them, parts of an `allOf` that exclude
//! each other.

use std::collections::HashSet;

use contract::Diagnostic;
use contract::model::{Contract, Keywords, SchemaId, SchemaKind};
use contract::source::Span;

use crate::containment::Context;
use crate::pair::Side;

/// The rules that report, without a search, why a schema accepts nothing or less than is meant.
const KNOWN: [&str; 9] = [
    "bad-enum",
    "closed-part",
    "empty-composition",
    "empty-enum",
    "endless-schema",
    "impossible-bounds",
    "impossible-required",
    "impossible-schema",
    "overlapping-branches",
];

/// Returns a diagnostic for each schema that accepts nothing, unless a schema that it is made of
/// accepts nothing either, or `found` says why.
pub(crate) fn impossible_schemas(context: &Context<'_>, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let contract = context.pair.contract(Side::Base);
    let known: Vec<Span> = found
        .iter()
        .filter(|one| KNOWN.contains(&one.code))
        .map(|one| one.span)
        .collect();
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for (id, schema) in (0..).map(SchemaId).zip(&contract.schemas) {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        let names = constraints(keywords);
        let is_composed = !keywords.all_of.is_empty() || keywords.reference.is_some();
        // What one keyword does alone, the other rules report.
        let is_telling = match names[..] {
            [] => false,
            // A pattern alone can match nothing, as `^a$b` does.
            [name] => name == "pattern" || (name == "not" && keywords.types.is_some()),
            _ => true,
        };
        if keywords.only_reference || !(is_telling || is_composed) {
            continue;
        }
        let is_inside = |span: &Span| {
            span.file == schema.span.file
                && schema.span.start <= span.start
                && span.end <= schema.span.end
        };
        if !context.is_impossible(id)
            || parts(keywords).any(|part| is_nothing(contract, part) || context.is_impossible(part))
            || known.iter().any(is_inside)
            || !seen.insert(schema.span)
        {
            continue;
        }
        let message = match names.split_last() {
            Some((last, [])) => format!("no value fits this schema, because of `{last}`"),
            Some((last, others)) => format!(
                "no value fits `{}` and `{last}` together",
                others.join("`, `")
            ),
            None => "no value fits this schema".to_owned(),
        };
        out.push(
            Diagnostic::warning("impossible-schema", schema.span, message)
                .help("correct one of them"),
        );
    }
    out
}

/// Returns whether a schema says on purpose that there is nothing.
fn is_nothing(contract: &Contract, id: SchemaId) -> bool {
    match &contract.schema(contract.resolve(id)).kind {
        SchemaKind::Bool(accepts) => !accepts,
        SchemaKind::Object(_) => false,
    }
}

/// Returns the schemas that a schema is made of.
fn parts(keywords: &Keywords) -> impl Iterator<Item = SchemaId> {
    let single = [
        keywords.reference,
        keywords.items,
        keywords.contains,
        keywords.additional_properties,
    ];
    let lists = [
        &keywords.all_of,
        &keywords.any_of,
        &keywords.one_of,
        &keywords.prefix_items,
    ];
    let lists = lists.into_iter().flatten().copied();
    let properties = keywords.properties.values().copied();
    single.into_iter().flatten().chain(lists).chain(properties)
}

/// Returns the names of the keywords that constrain values, other than `type` and those about single
/// properties and items.
fn constraints(keywords: &Keywords) -> Vec<&'static str> {
    let all = [
        ("enum", keywords.enumeration.is_some()),
        ("const", keywords.constant.is_some()),
        ("minimum", keywords.minimum.is_some()),
        ("maximum", keywords.maximum.is_some()),
        ("exclusiveMinimum", keywords.exclusive_minimum.is_some()),
        ("exclusiveMaximum", keywords.exclusive_maximum.is_some()),
        ("multipleOf", keywords.multiple_of.is_some()),
        ("minLength", keywords.min_length.is_some()),
        ("maxLength", keywords.max_length.is_some()),
        ("pattern", keywords.pattern.is_some()),
        ("format", keywords.format.is_some()),
        ("minItems", keywords.min_items.is_some()),
        ("maxItems", keywords.max_items.is_some()),
        ("uniqueItems", keywords.unique_items),
        ("contains", keywords.contains.is_some()),
        // Items alone are never impossible: a list may be empty.
        (
            "items",
            keywords.contains.is_some() && keywords.items.is_some(),
        ),
        ("required", !keywords.required.is_empty()),
        ("minProperties", keywords.min_properties.is_some()),
        ("maxProperties", keywords.max_properties.is_some()),
        ("propertyNames", keywords.property_names.is_some()),
        ("patternProperties", !keywords.pattern_properties.is_empty()),
        (
            "additionalProperties",
            keywords.additional_properties.is_some(),
        ),
        ("dependentRequired", !keywords.dependent_required.is_empty()),
        ("dependentSchemas", !keywords.dependent_schemas.is_empty()),
        ("$ref", keywords.reference.is_some()),
        ("allOf", !keywords.all_of.is_empty()),
        ("anyOf", !keywords.any_of.is_empty()),
        ("oneOf", !keywords.one_of.is_empty()),
        ("not", keywords.not.is_some()),
        ("if", keywords.if_schema.is_some()),
    ];
    let said = all.into_iter().filter(|(_, is_said)| *is_said);
    said.map(|(name, _)| name).collect()
}
