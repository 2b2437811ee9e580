//! Defaults, examples and listed values that their schema refuses.

mod cost;
mod violation;

use serde_json::{Value, json};

use super::pattern;
use crate::build::{Built, Role, ValueSite};
use crate::bundle::{ends, for_each_child, schema_bundle, schema_reference};
use crate::diagnostic::{Diagnostic, Severity};
use crate::model::{Contract, Keywords, Operation, SchemaId, SchemaKind, Types};
use crate::node::{Node, NodeValue};
use violation::{Annotated, violations};

/// Documents may nest as deep as their reader allows, so judging them needs room.
const STACK_BYTES: usize = 256 << 20;

/// Checks every value in the document against its schema, in one run of one validator.
///
/// A default that its schema refuses is taken out of the model, so that nobody applies it.
pub(super) fn check(built: &mut Built<'_>, diagnostics: &mut Vec<Diagnostic>) {
    if diagnostics
        .iter()
        .any(|finding| finding.code == "bad-pattern" && finding.severity == Severity::Error)
    {
        drop_bad_patterns(&mut built.contract);
    }
    for id in judge(built, diagnostics) {
        if let SchemaKind::Object(keywords) = &mut built.contract.schemas[id.0 as usize].kind {
            keywords.default = None;
        }
    }
}

/// Takes out the patterns that are reported already, so that everything else can be judged still.
fn drop_bad_patterns(contract: &mut Contract) {
    for schema in &mut contract.schemas {
        if let SchemaKind::Object(keywords) = &mut schema.kind {
            keywords.pattern = keywords
                .pattern
                .take()
                .filter(|pattern| pattern::why_unusable(pattern).is_none());
            keywords
                .pattern_properties
                .retain(|pattern, _| pattern::why_unusable(pattern).is_none());
        }
    }
}

/// Reports what is refused, and returns the schemas whose default that is.
fn judge(built: &Built<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<SchemaId> {
    let contract = &built.contract;
    let ends = ends(contract);
    let mut refused = Vec::new();
    let sites: Vec<&ValueSite<'_>> = built
        .values
        .iter()
        .filter(|site| !is_plainly_right(contract, &ends, site))
        .collect();
    if sites.is_empty() {
        return refused;
    }
    let values: Vec<Value> = sites.iter().map(|site| site.node.to_json()).collect();
    let affordable =
        cost::is_affordable(contract, sites.iter().map(|site| site.schema).zip(&values));
    if !affordable {
        let help = "name fewer schemas several times in one `allOf`, `anyOf` or `oneOf`";
        diagnostics.push(unchecked(sites[0], "the schemas are too entangled", help));
        return refused;
    }
    let schemas: Vec<Value> = sites
        .iter()
        .map(|site| json!({ "$ref": schema_reference(contract, ends[site.schema.0 as usize]) }))
        .collect();
    let mut root = schema_bundle(contract);
    root["prefixItems"] = Value::Array(schemas);
    let violations = std::thread::scope(|scope| {
        let judge = || violations(&root, &Value::Array(values), built.contract.formats);
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, judge)
            .ok()
            .and_then(|thread| thread.join().ok()?)
    });
    let Some(violations) = violations else {
        // What makes a schema impossible to compile is reported where it stands, most of the time.
        if diagnostics
            .iter()
            .all(|finding| finding.severity != Severity::Error)
        {
            let help = "say less in schemas, defaults and examples at once";
            diagnostics.push(unchecked(
                sites[0],
                "no validator can be made of the schemas",
                help,
            ));
        }
        return refused;
    };
    if violations.is_empty() {
        return refused;
    }
    let annotated = Annotated::of(contract);
    let in_use = reachable(contract);
    for violation in violations {
        let Some(site) = sites.get(violation.index) else {
            continue;
        };
        if annotated.excuses(&violation) {
            continue;
        }
        let finding = violation.finding(site);
        let is_default = site.role == Role::Default;
        if is_default {
            refused.push(site.schema);
        }
        diagnostics.push(Diagnostic {
            // A default becomes part of what is generated; the others only illustrate.
            severity: if is_default && in_use[site.schema.0 as usize] {
                Severity::Error
            } else {
                Severity::Warning
            },
            ..finding
        });
    }
    refused
}

/// Says of all values, at the first of them, that nobody has looked.
fn unchecked(first: &ValueSite<'_>, why: &str, help: &str) -> Diagnostic {
    let message = format!("{why} to check defaults and examples against them");
    Diagnostic::warning("unchecked-values", first.node.span, message).help(help)
}

/// Which schemas the operations use, directly or through others.
fn reachable(contract: &Contract) -> Vec<bool> {
    let mut pending: Vec<SchemaId> = Vec::new();
    let mut operations: Vec<&Operation> = contract
        .operations
        .iter()
        .chain(&contract.webhooks)
        .collect();
    while let Some(operation) = operations.pop() {
        operations.extend(&operation.callbacks);
        pending.extend(
            operation
                .parameters
                .iter()
                .map(|parameter| parameter.schema),
        );
        let bodies = operation.request_body.iter().flat_map(|body| &body.content);
        let answers = operation
            .responses
            .iter()
            .flat_map(|response| &response.content);
        pending.extend(bodies.chain(answers).filter_map(|media| media.schema));
        let headers = operation
            .responses
            .iter()
            .flat_map(|response| &response.headers);
        pending.extend(headers.map(|header| header.schema));
    }
    let mut seen = vec![false; contract.schemas.len()];
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut seen[id.0 as usize], true)
            && let SchemaKind::Object(keywords) = &contract.schema(id).kind
        {
            for_each_child(keywords, |child| pending.push(child));
            pending.extend(keywords.reference);
            let mapping = keywords
                .discriminator
                .iter()
                .flat_map(|chosen| &chosen.mapping);
            pending.extend(mapping.map(|(_, target)| *target));
        }
    }
    seen
}

/// Whether a value is right at a glance: the schema says nothing but types, and the value is of one.
fn is_plainly_right(contract: &Contract, ends: &[SchemaId], site: &ValueSite<'_>) -> bool {
    let end = ends[site.schema.0 as usize];
    let keywords = match &contract.schema(end).kind {
        SchemaKind::Bool(value) => return *value,
        SchemaKind::Object(keywords) => keywords,
    };
    let of_type = keywords
        .types
        .is_none_or(|types| types.contains(type_of(site.node)) || is_integer(types, site.node));
    let listed = site.role == Role::Member
        || match (&keywords.enumeration, &site.node.value) {
            (None, _) => keywords.constant.is_none(),
            (Some(values), NodeValue::String(text)) => values.iter().any(|value| value == text),
            (Some(_), _) => false,
        };
    of_type && listed && says_only_types(keywords, &site.node.value)
}

fn says_only_types(keywords: &Keywords, value: &NodeValue) -> bool {
    let composed = keywords.reference.is_some()
        || !keywords.all_of.is_empty()
        || !keywords.any_of.is_empty()
        || !keywords.one_of.is_empty()
        || keywords.not.is_some()
        || keywords.if_schema.is_some();
    if composed {
        return false;
    }
    match value {
        NodeValue::Null | NodeValue::Bool(_) => true,
        NodeValue::Number(_) => {
            keywords.minimum.is_none()
                && keywords.maximum.is_none()
                && keywords.exclusive_minimum.is_none()
                && keywords.exclusive_maximum.is_none()
                && keywords.multiple_of.is_none()
                && keywords.format.is_none()
        }
        NodeValue::String(_) => {
            keywords.min_length.is_none()
                && keywords.max_length.is_none()
                && keywords.pattern.is_none()
                && keywords.format.is_none()
        }
        NodeValue::Array(_) | NodeValue::Object(_) => false,
    }
}

fn type_of(node: &Node) -> Types {
    match &node.value {
        NodeValue::Null => Types::NULL,
        NodeValue::Bool(_) => Types::BOOLEAN,
        NodeValue::Number(_) => Types::NUMBER,
        NodeValue::String(_) => Types::STRING,
        NodeValue::Array(_) => Types::ARRAY,
        NodeValue::Object(_) => Types::OBJECT,
    }
}

fn is_integer(types: Types, node: &Node) -> bool {
    types.contains(Types::INTEGER)
        && node
            .as_number()
            .is_some_and(|number| number.is_i64() || number.is_u64())
}
