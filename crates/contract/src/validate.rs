//! Validates the defaults, examples and listed values of a document against their schemas.

mod beyond;
mod cost;
mod violation;

pub(crate) use violation::Violation;

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::build::{Role, ValueSite};
use crate::bundle::{MOST_WAYS, Ways, ends, schema_bundle, schema_reference};
use crate::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use crate::node::{Node, NodeValue};
use crate::node_ref::address;
use violation::{Annotated, violations};

/// The stack size in bytes of the thread that validates. The validator recurses, and documents may
/// nest as deep as the reader allows.
const STACK_BYTES: usize = 256 << 20;

/// The result of validating the values of a document.
pub(crate) enum Validation<'a> {
    /// The values were validated. Holds the rejected ones.
    Judged(Vec<(ValueSite<'a>, Violation)>),
    /// No value was validated, because it would take too long. Holds the first value.
    TooCostly(ValueSite<'a>),
    /// No value was validated, because the schemas cannot be compiled. Holds the first value.
    NoValidator(ValueSite<'a>),
}

/// Validates every value against its schema, and finds the valid defaults that no integer type holds.
pub(crate) fn validate<'a>(contract: &Contract, values: &[ValueSite<'a>]) -> Validation<'a> {
    let ends = ends(contract);
    let mut validation = by_validator(contract, &ends, values);
    if let Validation::Judged(rejected) = &mut validation {
        let wrong: HashSet<usize> = rejected
            .iter()
            .map(|(site, _)| address(site.node))
            .collect();
        let beyond = values.iter().filter_map(|site| {
            let violation = beyond::violation(contract, &ends, site)?;
            (!wrong.contains(&address(site.node))).then_some((*site, violation))
        });
        rejected.extend(beyond);
    }
    validation
}

/// Validates every value against its schema, in one run of one validator, so that the schemas are
/// compiled once.
fn by_validator<'a>(
    contract: &Contract,
    ends: &[SchemaId],
    values: &[ValueSite<'a>],
) -> Validation<'a> {
    // Compiling the schemas takes far longer than this look at plain values, and is not needed at
    // all if no other values are left.
    let sites: Vec<ValueSite<'a>> = values
        .iter()
        .filter(|site| !is_plainly_right(contract, ends, site))
        .copied()
        .collect();
    let Some(first) = sites.first() else {
        return Validation::Judged(Vec::new());
    };
    let values: Vec<Value> = sites.iter().map(|site| site.node.to_json()).collect();
    if !cost::is_affordable(contract, sites.iter().map(|site| site.schema).zip(&values)) {
        return Validation::TooCostly(*first);
    }
    let mut ways = Ways::of(contract);
    let mut left = MOST_WAYS;
    for site in &sites {
        match ways.count(site.schema, left) {
            Some(taken) => left -= taken,
            None => return Validation::TooCostly(*first),
        }
    }
    let schemas: Vec<Value> = sites
        .iter()
        .map(|site| json!({ "$ref": schema_reference(contract, ends[site.schema.index()]) }))
        .collect();
    // One validator for all values: an array whose items are the values, each with its schema in
    // `prefixItems`. Compiling a validator for each value would compile the shared schemas again
    // each time.
    let mut root = schema_bundle(contract);
    root["prefixItems"] = Value::Array(schemas);
    // The thread is joined with `ok`, so that a panic of the validator on an unusual schema becomes
    // a warning.
    let violations = std::thread::scope(|scope| {
        let judge = || violations(&root, &Value::Array(values), contract.formats);
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, judge)
            .ok()
            .and_then(|thread| thread.join().ok()?)
    });
    let Some(violations) = violations else {
        return Validation::NoValidator(*first);
    };
    if violations.is_empty() {
        return Validation::Judged(Vec::new());
    }
    let annotated = Annotated::of(contract);
    let mut found: Vec<Violation> = Vec::new();
    for violation in violations {
        if annotated.excuses(&violation) {
            continue;
        }
        // The validator reports each missing property, one after the other.
        let other = match found.last_mut() {
            Some(last) => last.join(violation),
            None => Some(violation),
        };
        found.extend(other);
    }
    let rejected = found
        .into_iter()
        .filter_map(|violation| Some((*sites.get(violation.index)?, violation)));
    Validation::Judged(rejected.collect())
}

/// Returns whether a value is certainly valid, without running a validator: the schema constrains
/// only the type and lists values, the value has that type, and it is listed.
fn is_plainly_right(contract: &Contract, ends: &[SchemaId], site: &ValueSite<'_>) -> bool {
    let end = ends[site.schema.0 as usize];
    let keywords = match &contract.schema(end).kind {
        SchemaKind::Bool(value) => return *value,
        SchemaKind::Object(keywords) => keywords,
    };
    let of_type = keywords
        .types
        .is_none_or(|types| types.contains(type_of(site.node)) || is_integer(types, site.node));
    let listed = match (&keywords.enumeration, &keywords.constant) {
        (None, None) => true,
        // A member is listed by definition. Beside the other keyword, it may not be there.
        (Some(_), None) | (None, Some(_)) if site.role == Role::Member => true,
        (Some(values), None) => is_text_of(values, &site.node.value),
        (_, Some(_)) => false,
    };
    of_type && listed && says_only_types(keywords, &site.node.value)
}

/// Returns whether a value is a string that is listed. Values such as `1` and `1.0` are equal in
/// JSON, so the validator compares others.
fn is_text_of(values: &[Value], value: &NodeValue) -> bool {
    matches!(value, NodeValue::String(text) if values.iter().any(|value| value == text))
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
