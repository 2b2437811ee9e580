//! Arrays and texts in requests that nothing bounds, of the set `style`.
//!
//! A server reads them before it can judge them, so without a bound only the limit on the body's
//! size protects it. Responses are not checked: who sends them knows how much they hold.

use std::collections::{BTreeSet, HashSet};

use super::context::Context;
use super::parts::parts_first;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Formats, Keywords, SchemaId, SchemaKind, Types};

/// Reports arrays without `maxItems` and texts without a largest length, each at its `type`.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let contract = context.contract;
    let bounded = bounded(contract);
    let mut pending: Vec<(SchemaId, Bounded)> = roots(contract)
        .into_iter()
        .map(|id| (id, Bounded::default()))
        .collect();
    let mut seen = HashSet::new();
    let mut found = BTreeSet::new();
    while let Some((id, outer)) = pending.pop() {
        let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
            continue;
        };
        // With what bounds it from outside: one schema can be bounded in one place and not in
        // another.
        if !seen.insert((id, outer)) || keywords.read_only {
            continue;
        }
        let here = outer.or(bounded[id.index()]);
        let types = keywords.types.unwrap_or_default();
        if types.contains(Types::ARRAY) && !here.arrays {
            found.insert((id, Kind::Array));
        }
        // The bytes of a body are no text, and are bounded as a body.
        let is_binary = keywords.format.as_deref() == Some("binary");
        if types.contains(Types::STRING) && !here.texts && !is_binary {
            found.insert((id, Kind::Text));
        }
        pending.extend(same_value(keywords).into_iter().map(|id| (id, here)));
        pending.extend(
            parts(keywords)
                .into_iter()
                .map(|id| (id, Bounded::default())),
        );
    }
    diagnostics.extend(
        found
            .into_iter()
            .map(|(id, kind)| diagnostic(context, id, kind)),
    );
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Array,
    Text,
}

fn diagnostic(context: &Context<'_, '_>, id: SchemaId, kind: Kind) -> Diagnostic {
    let node = context.origins.nodes[id.index()];
    let span = node.entry("type").map_or(node.span, |entry| entry.key_span);
    let (code, message, help) = match kind {
        Kind::Array => (
            "unbounded-array",
            "an array in a request may have any number of items",
            "add `maxItems`",
        ),
        Kind::Text => (
            "unbounded-text",
            "a text in a request may have any length",
            "add `maxLength`, or an `enum`, a format of bounded length, or a `pattern` that begins with `^`, ends \
             with `$` and bounds each repetition",
        ),
    };
    Diagnostic::warning(code, span, message).help(help)
}

/// Returns the schemas of the values that requests consist of.
fn roots(contract: &Contract) -> Vec<SchemaId> {
    let mut roots = Vec::new();
    for operation in &contract.operations {
        roots.extend(
            operation
                .parameters
                .iter()
                .map(|parameter| parameter.schema),
        );
        let bodies = operation.request_body.iter().flat_map(|body| &body.content);
        roots.extend(bodies.flat_map(crate::model::MediaType::schemas));
    }
    roots
}

/// Returns the schemas that a value of this schema must or may match as well.
fn same_value(keywords: &Keywords) -> Vec<SchemaId> {
    let single = [
        keywords.reference,
        keywords.then_schema,
        keywords.else_schema,
    ];
    let lists = [&keywords.all_of, &keywords.any_of, &keywords.one_of];
    single
        .into_iter()
        .flatten()
        .chain(lists.into_iter().flatten().copied())
        .chain(keywords.dependent_schemas.values().copied())
        .collect()
}

/// Returns the schemas of the items and properties of a value. Schemas that only judge parts, such as
/// that of `contains`, are left out: they allow no further part.
fn parts(keywords: &Keywords) -> Vec<SchemaId> {
    let single = [
        keywords.items,
        keywords.unevaluated_items,
        keywords.additional_properties,
        keywords.unevaluated_properties,
    ];
    single
        .into_iter()
        .flatten()
        .chain(keywords.prefix_items.iter().copied())
        .chain(keywords.properties.values().copied())
        .chain(keywords.pattern_properties.values().copied())
        .collect()
}

/// Whether the arrays and the texts that a schema accepts are bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Bounded {
    /// Whether every accepted array is bounded. True if the schema accepts no arrays.
    arrays: bool,
    /// Whether every accepted text is bounded. True if the schema accepts no texts.
    texts: bool,
}

impl Bounded {
    const ALL: Self = Self {
        arrays: true,
        texts: true,
    };

    fn or(self, other: Self) -> Self {
        Self {
            arrays: self.arrays || other.arrays,
            texts: self.texts || other.texts,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            arrays: self.arrays && other.arrays,
            texts: self.texts && other.texts,
        }
    }
}

fn bounded(contract: &Contract) -> Vec<Bounded> {
    let mut bounded = vec![Bounded::default(); contract.schemas.len()];
    for at in parts_first(contract) {
        bounded[at] = match &contract.schemas[at].kind {
            SchemaKind::Bool(true) => Bounded::default(),
            SchemaKind::Bool(false) => Bounded::ALL,
            SchemaKind::Object(keywords) => of_keywords(contract, keywords, &bounded),
        };
    }
    bounded
}

fn of_keywords(contract: &Contract, keywords: &Keywords, bounded: &[Bounded]) -> Bounded {
    if keywords.enumeration.is_some() || keywords.constant.is_some() {
        return Bounded::ALL;
    }
    let is_without = |ty| keywords.types.is_some_and(|types| !types.contains(ty));
    let format = keywords.format.as_deref().unwrap_or_default();
    let own = Bounded {
        arrays: is_without(Types::ARRAY)
            || keywords.max_items.is_some()
            || is_closed_tuple(contract, keywords),
        texts: is_without(Types::STRING)
            || keywords.max_length.is_some()
            || keywords.pattern.as_deref().is_some_and(bounds_length)
            || (contract.formats == Formats::Assertion && BOUNDED_FORMATS.contains(&format)),
    };
    let of = |id: &SchemaId| bounded[id.index()];
    let whole = keywords.reference.iter().chain(&keywords.all_of).map(of);
    let choices = [&keywords.any_of, &keywords.one_of]
        .into_iter()
        .filter(|choices| !choices.is_empty())
        .map(|choices| choices.iter().map(of).fold(Bounded::ALL, Bounded::and));
    whole.chain(choices).fold(own, Bounded::or)
}

/// Returns whether an array can have no items beside those of `prefixItems`.
fn is_closed_tuple(contract: &Contract, keywords: &Keywords) -> bool {
    let is_false = |id| matches!(contract.schema(id).kind, SchemaKind::Bool(false));
    keywords.items.is_some_and(is_false)
}

/// The formats whose texts have a largest length. `date-time` has none: a second may have any
/// number of decimals.
const BOUNDED_FORMATS: [&str; 6] = ["date", "hostname", "idn-hostname", "ipv4", "ipv6", "uuid"];

/// Returns whether a pattern matches no text of more than some length: it is about the whole text,
/// and each repetition ends.
fn bounds_length(pattern: &str) -> bool {
    let Ok(translated) = jsonschema_regex::to_rust_regex(pattern) else {
        return false;
    };
    // Patterns that look around are not read, and so count as unbounded.
    let Ok(parsed) = regex_syntax::parse(&translated) else {
        return false;
    };
    let properties = parsed.properties();
    properties.maximum_len().is_some()
        && properties
            .look_set_prefix()
            .contains(regex_syntax::hir::Look::Start)
        && properties
            .look_set_suffix()
            .contains(regex_syntax::hir::Look::End)
}
