//! Names that are written in another case than most names of their kind.

use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;
use crate::model::{Location, split_label};
use crate::node::Node;
use crate::source::Span;

/// The ways of writing several words as one name.
const CASES: [(&str, fn(&str) -> bool); 5] = [
    ("snake_case", |name| is_made_of(name, false, '_')),
    ("camelCase", |name| {
        name.starts_with(|first: char| first.is_ascii_lowercase()) && is_joined(name)
    }),
    ("kebab-case", |name| is_made_of(name, false, '-')),
    ("PascalCase", |name| {
        name.starts_with(|first: char| first.is_ascii_uppercase()) && is_joined(name)
    }),
    ("SCREAMING_CASE", |name| is_made_of(name, true, '_')),
];

fn is_made_of(name: &str, upper: bool, separator: char) -> bool {
    name.chars().all(|char| {
        char == separator
            || char.is_ascii_digit()
            || if upper {
                char.is_ascii_uppercase()
            } else {
                char.is_ascii_lowercase()
            }
    })
}

fn is_joined(name: &str) -> bool {
    name.chars().all(|char| char.is_ascii_alphanumeric())
}

/// Reports names in another case than most: of operations, schemas, properties, query parameters and
/// the segments of paths.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    let contract = context.contract;
    let ids = context.origins.operations.iter().filter_map(|site| {
        let id = site.node.get("operationId")?;
        Some((id.as_str()?, id.span))
    });
    compare(ids, "operation ids", diagnostics);
    let schemas = root
        .get("components")
        .and_then(|components| components.get("schemas"));
    let schemas = schemas.and_then(Node::as_object).unwrap_or_default().iter();
    compare(
        schemas.map(|entry| (entry.key.as_str(), entry.key_span)),
        "schemas",
        diagnostics,
    );
    let properties = context.origins.nodes.iter().flat_map(|node| {
        let properties = node.get("properties").and_then(Node::as_object);
        properties.unwrap_or_default()
    });
    let properties = properties.map(|entry| (entry.key.as_str(), entry.key_span));
    compare(properties, "properties", diagnostics);
    let parameters = contract
        .operations
        .iter()
        .flat_map(|operation| &operation.parameters);
    let queries = parameters.filter(|parameter| parameter.location == Location::Query);
    let queries = queries.map(|parameter| (parameter.name.as_str(), parameter.span));
    compare(queries, "query parameters", diagnostics);
    let paths = root
        .get("paths")
        .and_then(Node::as_object)
        .unwrap_or_default();
    let segments = paths.iter().flat_map(|entry| {
        let segments = split_label(&entry.key).0.split('/');
        segments.map(|segment| (segment, entry.key_span))
    });
    compare(segments, "segments of paths", diagnostics);
}

/// Reports the names that are not in the case of most. Names that are in no known case say nothing.
fn compare<'n>(
    names: impl Iterator<Item = (&'n str, Span)>,
    what: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut seen = std::collections::HashSet::new();
    let names: Vec<(&str, Span)> = names
        .filter(|(name, _)| name.contains(|char: char| char.is_ascii_alphabetic()))
        .filter(|(name, _)| CASES.iter().any(|(_, fits)| fits(name)))
        // A component is one name, however often it is used.
        .filter(|name| seen.insert(*name))
        .collect();
    let counts = CASES.map(|(_, fits)| names.iter().filter(|(name, _)| fits(name)).count());
    let Some(most) = counts.iter().max().copied().filter(|most| *most > 1) else {
        return;
    };
    let Some(at) = counts.iter().position(|count| *count == most) else {
        return;
    };
    let (case, fits) = CASES[at];
    for (name, span) in &names {
        if !fits(name) {
            diagnostics.push(
                Diagnostic::warning(
                    "mixed-casing",
                    *span,
                    format!("`{name}` is not in {case}, in which most {what} are"),
                )
                .help("write all of them alike"),
            );
        }
    }
}
