//! Schemas that accept nothing: types that exclude each other, and objects that must contain themselves without end.

use std::collections::HashSet;

use serde_json::Value;

use super::context::Context;
use crate::circles;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use crate::node::Node;
use crate::source::Span;

/// Reports them. In-place references must not go in circles.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let accepted = accepted(context.contract);
    exclusive(context, &accepted, diagnostics);
    endless(context, &accepted, diagnostics);
}

/// Every type.
const ANY: Types = Types(127);

/// The types that values of each schema may have.
fn accepted(contract: &Contract) -> Vec<Types> {
    let steps: Vec<Vec<usize>> = contract
        .schemas
        .iter()
        .map(|schema| {
            schema
                .kind
                .in_place()
                .into_iter()
                .map(SchemaId::index)
                .collect()
        })
        .collect();
    let mut accepted = vec![ANY; steps.len()];
    let mut is_seen = vec![false; steps.len()];
    for start in 0..steps.len() {
        if std::mem::replace(&mut is_seen[start], true) {
            continue;
        }
        let mut path = vec![(start, 0)];
        while let Some((at, step)) = path.last_mut() {
            if let Some(next) = steps[*at].get(*step).copied() {
                *step += 1;
                if !std::mem::replace(&mut is_seen[next], true) {
                    path.push((next, 0));
                }
                continue;
            }
            accepted[*at] = match &contract.schemas[*at].kind {
                SchemaKind::Bool(true) => ANY,
                SchemaKind::Bool(false) => Types(0),
                SchemaKind::Object(keywords) => both(asked(keywords, &accepted), listed(keywords)),
            };
            path.pop();
        }
    }
    accepted
}

/// The types that a schema leaves, the values that it lists aside.
fn asked(keywords: &Keywords, accepted: &[Types]) -> Types {
    let of = |id: &SchemaId| accepted[id.0 as usize];
    // An integer is a number.
    let widened = |types: Types| {
        if types.contains(Types::NUMBER) {
            types.with(Types::INTEGER)
        } else {
            types
        }
    };
    let own = keywords.types.map_or(ANY, widened);
    let parts = keywords.reference.iter().chain(&keywords.all_of).map(of);
    let choices = [&keywords.any_of, &keywords.one_of]
        .into_iter()
        .filter(|choices| !choices.is_empty());
    parts
        .chain(choices.map(|choices| choices.iter().map(of).fold(Types(0), Types::with)))
        .fold(own, both)
}

/// The types of the values that a schema lists.
fn listed(keywords: &Keywords) -> Types {
    let of = |value: &Value| match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOLEAN,
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

/// Types that exclude each other, where they meet.
fn exclusive(context: &Context<'_, '_>, accepted: &[Types], diagnostics: &mut Vec<Diagnostic>) {
    for (schema, node) in context.contract.schemas.iter().zip(&context.origins.nodes) {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        let accepts = |id: &SchemaId| !accepted[id.0 as usize].is_empty();
        let is_choice = |choices: &[SchemaId]| choices.is_empty() || choices.iter().any(accepts);
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
                "the types that are asked for here exclude each other",
            )
            .help("correct one of them, or offer a choice with `anyOf`"),
        );
    }
}

/// Objects and lists that must contain themselves.
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
        spans.sort();
        let Some((first, rest)) = spans.split_first() else {
            return;
        };
        let message = "no value can be complete: this needs another one within itself, without end";
        let mut diagnostic = Diagnostic::warning("endless-schema", *first, message)
            .help("leave it out of `required` or `minItems`, or let it be null");
        for span in rest.iter().take(5) {
            diagnostic = diagnostic.related(*span, "part of the circle");
        }
        diagnostics.push(diagnostic);
    });
}

/// More circles than this have one reason.
const MOST_CIRCLES: usize = 100;

/// A schema that something has to fit, for a value to fit another one.
struct Need {
    schema: usize,
    /// Where it is asked for, if of a part of the value.
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
    // Who declares properties and no type means an object.
    let is_object = accepted == Types::OBJECT || (keywords.types.is_none() && accepted == ANY);
    if is_object {
        // As the author wrote it: normalising may have dropped names from `required`.
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
        && keywords.prefix_items.is_empty()
    {
        needs.push(Need {
            schema: id.0 as usize,
            part: Some(entry.key_span),
        });
    }
    needs
}
