//! The lint `redundant-branch`: branches of an `anyOf` all of whose values another branch accepts.

use std::collections::HashSet;

use contract::Diagnostic;
use contract::diagnostic::harmless;
use contract::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use contract::source::Span;

use crate::containment::{Carrier, Containment, Context, Question, Reading};
use crate::pair::Side;

/// The maximum number of branches of an `anyOf` that are compared with each other.
const MOST_BRANCHES: usize = 44;

/// The maximum number of characters of a value that a message shows.
const MOST_SHOWN: usize = 200;

/// The maximum number of schemas that are looked at for the properties that a branch names.
const MOST_LOOKS: usize = 500;

/// Returns a diagnostic for each branch of an `anyOf` whose values another branch accepts, with one of
/// them.
///
/// What documents something is not reported: a branch for null, a list of values or a format beside
/// the type of all of them, and an object that names more properties than the other branch. What
/// `found` reports as a `duplicate-branch` is not reported again.
pub(crate) fn redundant_branches(context: &Context<'_>, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let contract = context.pair.contract(Side::Base);
    let duplicates = found.iter().filter(|one| one.code == "duplicate-branch");
    let duplicates: HashSet<Span> = duplicates.map(|one| one.span).collect();
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for schema in &contract.schemas {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        let branches = &keywords.any_of;
        // An alias of YAML and a copied path item make several schemas of one place.
        if !(2..=MOST_BRANCHES).contains(&branches.len())
            || keywords.discriminator.is_some()
            || !seen.insert(schema.span)
        {
            continue;
        }
        let judged: Vec<SchemaId> = branches
            .iter()
            .copied()
            .filter(|id| !duplicates.contains(&contract.schema(*id).span))
            .collect();
        out.extend(redundant(context, branches, &judged));
    }
    out
}

/// Returns a diagnostic for each of the `judged` branches that another one contains.
fn redundant(context: &Context<'_>, branches: &[SchemaId], judged: &[SchemaId]) -> Vec<Diagnostic> {
    let contract = context.pair.contract(Side::Base);
    let mut gone: HashSet<SchemaId> = HashSet::new();
    let mut out = Vec::new();
    // Of two branches that mean the same, the later one says nothing new.
    for one in judged.iter().rev() {
        let other = judged.iter().find(|other| {
            one != *other && !gone.contains(*other) && contains(context, *one, **other)
        });
        let Some(other) = other else { continue };
        gone.insert(*one);
        let number =
            |id: &SchemaId| branches.iter().position(|branch| branch == id).unwrap_or(0) + 1;
        let value = context.example(Side::Base, *one, Reading::Exact);
        let value = value.map_or(String::new(), |value| {
            format!(", as it does `{}`", shown(&value.to_string()))
        });
        let message = format!(
            "branch {} of `anyOf` says nothing: branch {} accepts all of its values{value}",
            number(one),
            number(other),
        );
        out.push(
            Diagnostic::warning("redundant-branch", contract.schema(*one).span, message)
                .help("remove the branch, or make the other one narrower")
                .related(
                    contract.schema(*other).span,
                    "this branch accepts its values",
                ),
        );
    }
    out
}

/// Returns whether a branch accepts all values of another one, which is there for no other reason.
fn contains(context: &Context<'_>, one: SchemaId, other: SchemaId) -> bool {
    let contract = context.pair.contract(Side::Base);
    let resolved = |id| match &contract.schema(contract.resolve(id)).kind {
        SchemaKind::Object(keywords) => Some(&**keywords),
        SchemaKind::Bool(_) => None,
    };
    let (Some(inner), Some(outer)) = (resolved(one), resolved(other)) else {
        return false;
    };
    if inner.types == Some(Types::NULL) || is_documentation(inner, outer) {
        return false;
    }
    let named = names(contract, other);
    // A schema without any keyword makes every other branch idle.
    let is_anything = outer.raw.is_empty() && !has_parts(outer);
    if !is_anything && !names(contract, one).is_subset(&named) {
        return false;
    }
    // A schema that accepts nothing is reported as that.
    if context.is_impossible(one) {
        return false;
    }
    let question = Question {
        sender: Side::Base,
        sent: one,
        received: other,
        reading: Reading::Exact,
        carrier: Carrier::Json,
        assumed: &HashSet::new(),
    };
    context.contain(&question) == Containment::Contained
}

/// The keywords that say no more of values than their type.
const PLAIN: [&str; 6] = [
    "type",
    "title",
    "description",
    "example",
    "examples",
    "default",
];

/// Returns whether a schema lists known values or says a format, itself or in branches, and the other one
/// is a type or has branches, so that the first one is there for readers.
fn is_documentation(inner: &Keywords, outer: &Keywords) -> bool {
    let tells = inner.enumeration.is_some()
        || inner.constant.is_some()
        || inner.format.is_some()
        || !inner.any_of.is_empty();
    let mut said = outer.raw.iter();
    let is_plain = outer.types.is_some() && said.all(|(key, _)| PLAIN.contains(&&**key));
    // Often a text, beside values of it that are known.
    let has_branches = !outer.any_of.is_empty();
    tells && (has_branches || is_plain && !has_parts(outer))
}

/// Returns whether a schema has a keyword that holds schemas.
fn has_parts(keywords: &Keywords) -> bool {
    let mut has = keywords.reference.is_some();
    keywords.for_each_child(|_| has = true);
    has
}

/// Returns the names of the properties that a schema and its parts name.
fn names(contract: &Contract, id: SchemaId) -> HashSet<&str> {
    let mut pending = vec![id];
    let mut seen = HashSet::new();
    let mut found = HashSet::new();
    while let Some(id) = pending.pop() {
        if seen.len() < MOST_LOOKS
            && seen.insert(id)
            && let SchemaKind::Object(keywords) = &contract.schema(id).kind
        {
            found.extend(keywords.properties.keys().map(String::as_str));
            let parts = [&keywords.all_of, &keywords.any_of, &keywords.one_of];
            pending.extend(parts.into_iter().flatten().chain(&keywords.reference));
        }
    }
    found
}

/// Returns a value as a message shows it.
fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", harmless(&text[..end])),
        None => harmless(text),
    }
}
