//! Required properties that a schema does not declare.

use std::collections::HashSet;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Keywords, SchemaId, SchemaKind};
use crate::node::Node;
use crate::spelling::nearest;

/// Reports required properties that an open schema with other properties, or the parts of an `allOf`,
/// do not declare, where no other schema could declare them for the same value.
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
        if composed.contains(&id) {
            continue;
        }
        if is_alone(keywords) {
            undeclared(keywords, node, diagnostics);
            dependent(keywords, node, diagnostics);
        } else if !keywords.all_of.is_empty() && keywords.discriminator.is_none() {
            undeclared_of_all(contract, keywords, node, diagnostics);
        }
    }
}

fn is_alone(keywords: &Keywords) -> bool {
    !keywords.properties.is_empty()
        && keywords.discriminator.is_none()
        && keywords.all_of.is_empty()
        && is_plain(keywords)
}

/// Returns whether a schema declares its properties by `properties` and `allOf` alone.
fn is_plain(keywords: &Keywords) -> bool {
    keywords.additional_properties.is_none()
        && keywords.unevaluated_properties.is_none()
        && keywords.pattern_properties.is_empty()
        && keywords.reference.is_none()
        && keywords.if_schema.is_none()
        && keywords.dependent_schemas.is_empty()
        && keywords.any_of.is_empty()
        && keywords.one_of.is_empty()
}

/// Reports names that a schema with an `allOf`, or a part that is written in it, requires, but
/// which no `properties` of them declare. A part that is a reference is not reported: it may be made for
/// others that declare more.
fn undeclared_of_all(
    contract: &Contract,
    keywords: &Keywords,
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut declared = HashSet::new();
    let mut steps = 0;
    if !gather(contract, keywords, &mut declared, &mut steps) || declared.is_empty() {
        return;
    }
    let parts = node.get("allOf").and_then(Node::as_array);
    let written = std::iter::once(node).chain(parts.unwrap_or_default());
    for required in written.filter_map(|part| part.get("required")?.as_array()) {
        for name in required {
            let Some(text) = name.as_str().filter(|text| !declared.contains(text)) else {
                continue;
            };
            // Sorted, so that of equally similar names the same one is suggested in each run.
            let mut all: Vec<&str> = declared.iter().copied().collect();
            all.sort_unstable();
            let help = match nearest(text, all.into_iter()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    format!("declare `{text}` in the `properties` of a part, or remove it here")
                }
            };
            diagnostics.push(
                Diagnostic::warning(
                    "undeclared-required",
                    name.span,
                    format!("`{text}` is required, but no part of the `allOf` declares it"),
                )
                .help(help),
            );
        }
    }
}

/// The most schemas that the parts of one `allOf` may have, with the parts of these; larger ones are
/// not checked.
const MOST_STEPS: usize = 1000;

/// Adds the names of the properties that a schema and the parts of its `allOf` declare. Returns `false`
/// if that may not be all: a part is a boolean or not [plain](is_plain), or there are more than
/// [`MOST_STEPS`].
fn gather<'c>(
    contract: &'c Contract,
    keywords: &'c Keywords,
    declared: &mut HashSet<&'c str>,
    steps: &mut usize,
) -> bool {
    *steps += 1;
    if *steps > MOST_STEPS || !is_plain(keywords) {
        return false;
    }
    declared.extend(keywords.properties.keys().map(String::as_str));
    keywords.all_of.iter().all(
        |part| match &contract.schema(contract.resolve(*part)).kind {
            SchemaKind::Object(keywords) => gather(contract, keywords, declared, steps),
            SchemaKind::Bool(_) => false,
        },
    )
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

/// Reports names in `dependentRequired` that `properties` does not declare.
fn dependent(keywords: &Keywords, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let entries = node.get("dependentRequired").and_then(Node::as_object);
    let entries = entries.unwrap_or_default();
    let names = entries.iter().flat_map(|entry| {
        let wanted = entry.value.as_array().unwrap_or_default().iter();
        let wanted = wanted.filter_map(|name| Some((name.as_str()?, name.span)));
        std::iter::once((entry.key.as_str(), entry.key_span)).chain(wanted)
    });
    let undeclared = names.filter(|(name, _)| !keywords.properties.contains_key(*name));
    for (name, span) in undeclared.take(MOST_PAIRS / keywords.properties.len().max(1)) {
        let known = keywords.properties.keys().map(String::as_str);
        diagnostics.push(
            Diagnostic::warning(
                "undeclared-required",
                span,
                format!("`dependentRequired` names `{name}`, but `properties` does not declare it"),
            )
            .help(match nearest(name, known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("declare `{name}` in `properties`, or remove it here"),
            }),
        );
    }
}
