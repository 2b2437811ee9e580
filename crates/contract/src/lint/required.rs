//! Required properties that a schema does not declare.

use std::collections::HashSet;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Keywords, SchemaId, SchemaKind};
use crate::node::Node;
use crate::spelling::nearest;

/// Reports required properties that an open schema with other properties does not declare, where no
/// other schema could declare them for the same value.
///
/// The check of the syntax has reported names that are similar to a declared one, and names that a
/// closed object forbids.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let contract = context.contract;
    // Beside a part of a composition, other parts may declare the property.
    let mut composed: HashSet<SchemaId> = HashSet::new();
    for schema in &contract.schemas {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        // A plain reference composes nothing.
        if !keywords.only_reference {
            for part in schema.kind.in_place() {
                composed.extend([part, contract.resolve(part)]);
            }
        }
    }
    let ids = (0..contract.schemas.len()).map(SchemaId::at);
    for (id, node) in ids.zip(&context.origins.nodes) {
        let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
            continue;
        };
        if !composed.contains(&id) && is_alone(keywords) {
            undeclared(keywords, node, diagnostics);
        }
    }
}

fn is_alone(keywords: &Keywords) -> bool {
    !keywords.properties.is_empty()
        && keywords.additional_properties.is_none()
        && keywords.unevaluated_properties.is_none()
        && keywords.pattern_properties.is_empty()
        && keywords.reference.is_none()
        && keywords.discriminator.is_none()
        && keywords.if_schema.is_none()
        && keywords.dependent_schemas.is_empty()
        && [&keywords.all_of, &keywords.any_of, &keywords.one_of]
            .iter()
            .all(|list| list.is_empty())
}

/// The number of pairs of a required name and a property that are compared; schemas with more are not
/// checked.
const MOST_PAIRS: usize = 10_000;

fn undeclared(keywords: &Keywords, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let names = node.get("required").and_then(Node::as_array);
    let names = names.unwrap_or_default();
    if names.len() * keywords.properties.len() > MOST_PAIRS {
        return;
    }
    let required: HashSet<&str> = keywords.required.iter().map(String::as_str).collect();
    for name in names {
        let Some(text) = name.as_str() else { continue };
        if keywords.properties.contains_key(text) {
            continue;
        }
        let others = keywords.properties.keys().map(String::as_str);
        // The check of the syntax has reported names that are similar to these.
        if nearest(text, others.filter(|other| !required.contains(other))).is_some() {
            continue;
        }
        diagnostics.push(
            Diagnostic::warning(
                "undeclared-required",
                name.span,
                format!("`{text}` is required, but `properties` does not declare it"),
            )
            .help(format!(
                "declare `{text}` in `properties`, or remove it here"
            )),
        );
    }
}
