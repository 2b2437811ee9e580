//! Schemas that accept nothing: types that exclude each other, and objects that must contain
//! themselves without end.

use std::collections::HashSet;

use serde_json::Value;

use super::context::Context;
use super::parts::parts_first;
use crate::circles;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use crate::node::Node;
use crate::source::Span;

/// Reports schemas that accept nothing. Schemas must not refer to themselves without a property or
/// item in between; normalising has broken such cycles.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let accepted = accepted(context.contract);
    exclusive(context, &accepted, diagnostics);
    endless(context, &accepted, diagnostics);
}

/// Every type.
const ANY: Types = Types(127);

/// Returns the types of the values that each schema accepts, as far as types alone decide.
fn accepted(contract: &Contract) -> Vec<Types> {
    let mut accepted = vec![ANY; contract.schemas.len()];
    for at in parts_first(contract) {
        accepted[at] = match &contract.schemas[at].kind {
            SchemaKind::Bool(true) => ANY,
            SchemaKind::Bool(false) => Types(0),
            SchemaKind::Object(keywords) => both(asked(keywords, &accepted), listed(keywords)),
        };
    }
    accepted
}

/// Returns the types that a schema accepts, regardless of the values that it lists.
fn asked(keywords: &Keywords, accepted: &[Types]) -> Types {
    let of = |id: &SchemaId| accepted[id.0 as usize];
    // Integers are numbers.
    let widened = |types: Types| {
        if types.contains(Types::NUMBER) {
            types.with(Types::INTEGER)
        } else {
            types
        }
    };
    // Types are only narrowed, never guessed: every schema reported here is certain to accept
    // nothing.
    let own = keywords.types.map_or(ANY, widened);
    let parts = keywords.reference.iter().chain(&keywords.all_of).map(of);
    // `anyOf` and `oneOf` accept at most the union of their branches. `not` and `if` are left out:
    // types alone cannot decide them.
    let choices = [&keywords.any_of, &keywords.one_of]
        .into_iter()
        .filter(|choices| !choices.is_empty());
    parts
        .chain(choices.map(|choices| choices.iter().map(of).fold(Types(0), Types::with)))
        .fold(own, both)
}

/// Returns the types of the values that a schema lists.
fn listed(keywords: &Keywords) -> Types {
    let of = |value: &Value| match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOLEAN,
        // For JSON Schema, 1.0 is an integer.
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => {
            Types::INTEGER
        }
        Value::Number(_) => Types::NUMBER,
        Value::String(_) => Types::STRING,
        Value::Array(_) => Types::ARRAY,
        Value::Object(_) => Types::OBJECT,
    };
    let values = keywords.enumeration.as_ref().map_or(ANY, |values| {
        values.iter().map(of).fold(Types(0), Types::with)
    });
    both(values, keywords.constant.as_ref().map_or(ANY, of))
}

fn both(one: Types, other: Types) -> Types {
    Types(one.0 & other.0)
}

/// Reports types that exclude each other, at the innermost schema that combines them: what contains
/// such a schema is not reported again.
fn exclusive(context: &Context<'_, '_>, accepted: &[Types], diagnostics: &mut Vec<Diagnostic>) {
    for (schema, node) in context.contract.schemas.iter().zip(&context.origins.nodes) {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        let accepts = |id: &SchemaId| !accepted[id.0 as usize].is_empty();
        let is_choice = |choices: &[SchemaId]| choices.is_empty() || choices.iter().any(accepts);
        // Report where types first exclude each other. A schema whose parts accept nothing already
        // is a consequence.
        let is_first = keywords
            .reference
            .iter()
            .chain(&keywords.all_of)
            .all(accepts)
            && is_choice(&keywords.any_of)
            && is_choice(&keywords.one_of);
        if !is_first || !asked(keywords, accepted).is_empty() {
            continue;
        }
        let key = ["allOf", "anyOf", "oneOf", "$ref"]
            .iter()
            .find_map(|key| node.entry(key));
        let span = key.map_or(node.span, |entry| entry.key_span);
        diagnostics.push(
            Diagnostic::warning(
                "impossible-schema",
                span,
                "the types that are required here exclude each other",
            )
            .help("correct one of them, or offer a choice with `anyOf`"),
        );
    }
}

/// Reports objects and arrays that must contain themselves.
///
/// An edge leads from a schema to each schema that a value must satisfy to satisfy the first. A
/// cycle with at least one edge into a part of the value can then only be satisfied by a value of
/// infinite depth.
fn endless(context: &Context<'_, '_>, accepted: &[Types], diagnostics: &mut Vec<Diagnostic>) {
    let schemas = context
        .contract
        .schemas
        .iter()
        .zip(accepted)
        .zip(&context.origins.nodes);
    let needed: Vec<Vec<Need>> = schemas
        .map(|((schema, types), node)| needed(&schema.kind, *types, node))
        .collect();
    let steps: Vec<Vec<usize>> = needed
        .iter()
        .map(|needs| needs.iter().map(|need| need.schema).collect())
        .collect();
    let mut reported = HashSet::new();
    circles::find(&steps, |circle| {
        if reported.len() == MOST_CIRCLES || !reported.insert(circle[0]) {
            return;
        }
        let next = circle.iter().skip(1).chain(&circle[..1]);
        let inner = circle
            .iter()
            .zip(next)
            .filter_map(|(at, next)| needed[*at].iter().find(|need| need.schema == *next)?.part);
        let mut spans: Vec<Span> = inner.collect();
        // The search can enter the cycle anywhere, and the report must not depend on it.
        spans.sort();
        let Some((first, rest)) = spans.split_first() else {
            return;
        };
        let message =
            "no finite value is valid: this requires another one within itself, without end";
        let mut diagnostic = Diagnostic::warning("endless-schema", *first, message)
            .help("remove it from `required` or `minItems`, or let it be null");
        for span in rest.iter().take(5) {
            diagnostic = diagnostic.related(*span, "part of the circle");
        }
        diagnostics.push(diagnostic);
    });
}

/// The number of cycles that are reported. More of them usually have one cause.
const MOST_CIRCLES: usize = 100;

/// A schema that something must satisfy for a value to satisfy another schema.
struct Need {
    schema: usize,
    /// The span of the keyword that requires it, if it applies to a part of the value.
    part: Option<Span>,
}

fn needed(kind: &SchemaKind, accepted: Types, node: &Node) -> Vec<Need> {
    let SchemaKind::Object(keywords) = kind else {
        return Vec::new();
    };
    let whole = keywords.reference.iter().chain(&keywords.all_of);
    let mut needs: Vec<Need> = whole
        .map(|id| Need {
            schema: id.0 as usize,
            part: None,
        })
        .collect();
    // A schema with properties and no type is meant to be an object.
    let is_object = accepted == Types::OBJECT || (keywords.types.is_none() && accepted == ANY);
    if is_object {
        // From the document: normalising may have dropped names from the contract's `required`.
        let required = node.get("required").and_then(Node::as_array);
        let required = required.unwrap_or_default().iter();
        for name in required.filter_map(Node::as_str) {
            let entry = node
                .get("properties")
                .and_then(|properties| properties.entry(name));
            if let (Some(id), Some(entry)) = (keywords.properties.get(name), entry) {
                needs.push(Need {
                    schema: id.0 as usize,
                    part: Some(entry.key_span),
                });
            }
        }
    }
    if accepted == Types::ARRAY
        && keywords.min_items.is_some_and(|least| least > 0)
        && let (Some(id), Some(entry)) = (keywords.items, node.entry("items"))
        // With `prefixItems`, `items` does not apply to the first item.
        && keywords.prefix_items.is_empty()
    {
        needs.push(Need {
            schema: id.0 as usize,
            part: Some(entry.key_span),
        });
    }
    needs
}
