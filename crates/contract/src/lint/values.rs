//! Defaults, examples and listed values that their schemas reject.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::context::Context;
use crate::build::{Role, ValueSite};
use crate::diagnostic::{Diagnostic, Severity};
use crate::format::integer_range;
use crate::model::{Contract, SchemaId, SchemaKind};
use crate::node::{Node, NodeValue};
use crate::node_ref::address;
use crate::number::compare;
use crate::read::is_about_date;
use crate::source::Span;
use crate::validate::{Validation, Violation};

/// Reports the defaults, examples and listed values that their schemas reject, or that values could
/// not be validated.
pub(super) fn check(
    context: &Context<'_, '_>,
    validation: &Validation<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    match validation {
        Validation::Judged(rejected) if rejected.is_empty() => {}
        Validation::Judged(rejected) => {
            let in_use = reachable(context.contract);
            let keywords = Places::of(context);
            let mut seen = HashSet::new();
            for (site, violation) in rejected {
                // Once for the values of an `enum`: usually its `type` is the cause.
                if site.role == Role::Member && !seen.insert(site.schema) {
                    continue;
                }
                let is_default = site.role == Role::Default;
                // JSON Schema merely recommends that a default fits, and 3.0 demands its type only.
                let is_dropped =
                    is_default && (violation.is_beyond() || keywords.is_of_format(violation));
                // Defaults become part of generated code; other values only illustrate.
                let is_used = is_default && in_use[site.schema.index()];
                let severity = if is_used && !is_dropped {
                    Severity::Error
                } else {
                    Severity::Warning
                };
                let mut found = diagnostic_of(site, violation, severity);
                if is_dropped {
                    found = found.help(
                        "correct the value, or the schema: until then the schema has no default",
                    );
                }
                diagnostics.push(match keywords.place(violation) {
                    Some((span, label)) => found.related(span, label),
                    None => found,
                });
            }
        }
        Validation::TooCostly(first) => {
            let help = "name fewer schemas several times in one `allOf`, `anyOf` or `oneOf`";
            diagnostics.push(unchecked(
                first,
                "the schemas refer to each other too often",
                help,
            ));
        }
        Validation::NoValidator(first) => {
            // Schemas that cannot be compiled are usually wrong in a way that is reported with its
            // span. Only without such an error is this worth a warning.
            let is_wrong = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
            if !context.is_wrong && !diagnostics.iter().any(is_wrong) {
                let help = "simplify the schemas, or split the document";
                let why = "the schemas cannot be compiled";
                diagnostics.push(unchecked(first, why, help));
            }
        }
    }
}

/// The nodes of the schemas of a contract, in which to look up the keywords that reject values.
struct Places<'l, 'a> {
    by_pointer: HashMap<&'l str, &'a Node>,
}

impl<'l, 'a> Places<'l, 'a> {
    fn of(context: &Context<'l, 'a>) -> Self {
        let schemas = context.contract.schemas.iter();
        let nodes = context.origins.nodes.iter().copied();
        Self {
            by_pointer: schemas
                .map(|schema| schema.pointer.as_str())
                .zip(nodes)
                .collect(),
        }
    }

    /// Returns whether it is only a `format` that rejects the value, which has the right type: also the
    /// range of one such as `int32`, which validators know as bounds that the document does not have.
    fn is_of_format(&self, violation: &Violation) -> bool {
        let Some((owner, keyword)) = violation.keyword.rsplit_once('/') else {
            return false;
        };
        if keyword == "format" {
            return true;
        }
        let schema = self.by_pointer.get(owner);
        let format = schema.and_then(|schema| schema.get("format")?.as_str());
        let Some((least, most)) = format.and_then(integer_range) else {
            return false;
        };
        let (end, beyond) = match keyword {
            "minimum" => (least, Ordering::Less),
            "maximum" => (most, Ordering::Greater),
            _ => return false,
        };
        let own = schema.and_then(|schema| schema.get(keyword)?.as_number());
        own.is_none_or(|own| compare(own, &end) == Some(beyond))
    }

    /// Returns the span of the keyword that rejects a value, with a label, unless the document does
    /// not have it as such.
    fn place(&self, violation: &Violation) -> Option<(Span, String)> {
        let (owner, keyword) = violation.keyword.rsplit_once('/')?;
        let entry = self.by_pointer.get(owner)?.entry(keyword)?;
        Some((entry.key_span, format!("rejected by this `{keyword}`")))
    }
}

/// Returns the spans of dates in values that their schemas accept as the texts that they are. Looks
/// for them only if a diagnostic is about a date.
pub(super) fn right_dates(
    context: &Context<'_, '_>,
    validation: &Validation<'_>,
    found: &[Diagnostic],
) -> HashSet<Span> {
    let mut dates = HashSet::new();
    if !found.iter().any(is_about_date) {
        return dates;
    }
    let Validation::Judged(rejected) = validation else {
        return dates;
    };
    let wrong: HashSet<usize> = rejected
        .iter()
        .map(|(site, _)| address(site.node))
        .collect();
    // The standard has no such fields, and we read a date there.
    let owners = context.origins.operations.iter().map(|site| site.node);
    for owner in owners.chain(context.origins.nodes.iter().copied()) {
        for key in ["x-sunset", "x-deprecation"] {
            dates.extend(owner.get(key).map(|value| value.span));
        }
    }
    let values = context.origins.values.iter().map(|site| site.node);
    let mut pending: Vec<&Node> = values
        .filter(|node| !wrong.contains(&address(node)))
        .collect();
    while let Some(node) = pending.pop() {
        match &node.value {
            NodeValue::Array(items) => pending.extend(items),
            NodeValue::Object(entries) => pending.extend(entries.iter().map(|entry| &entry.value)),
            NodeValue::String(_) => drop(dates.insert(node.span)),
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) => {}
        }
    }
    dates
}

fn diagnostic_of(site: &ValueSite<'_>, violation: &Violation, severity: Severity) -> Diagnostic {
    let (code, what) = match site.role {
        Role::Default => ("bad-default", "the default does not fit its schema"),
        Role::Example => ("bad-example", "the example does not fit its schema"),
        Role::Member => ("bad-enum", "the schema rejects a value that it lists"),
        Role::Link => (
            "bad-link-value",
            "the operation that the link leads to rejects the value",
        ),
    };
    let message = format!("{what}: {}", violation.message);
    let span = span(violation, site.node);
    Diagnostic {
        severity,
        ..Diagnostic::error(code, span, message)
    }
    .help("correct the value, or the schema")
}

fn span(violation: &Violation, root: &Node) -> Span {
    let mut at = root;
    for token in &violation.tokens {
        let next = match &at.value {
            NodeValue::Array(items) => token.parse().ok().and_then(|index: usize| items.get(index)),
            _ => at.get(token),
        };
        let Some(next) = next else { break };
        at = next;
    }
    let key = violation
        .unexpected
        .as_ref()
        .and_then(|name| at.entry(name));
    key.map_or(at.span, |entry| entry.key_span)
}

/// Reports, at the first value, that no value was validated.
fn unchecked(first: &ValueSite<'_>, why: &str, help: &str) -> Diagnostic {
    let message = format!("defaults and examples are not checked: {why}");
    Diagnostic::warning("unchecked-values", first.node.span, message).help(help)
}

/// Returns, for each schema by index, whether an operation, webhook or callback uses it, directly
/// or through other schemas.
fn reachable(contract: &Contract) -> Vec<bool> {
    let mut pending: Vec<SchemaId> = Vec::new();
    for operation in contract.all_operations() {
        pending.extend(
            operation
                .parameters
                .iter()
                .map(|parameter| parameter.schema),
        );
        let bodies = operation.request_body.iter().flat_map(|body| &body.content);
        let responses = operation
            .responses
            .iter()
            .flat_map(|response| &response.content);
        pending.extend(
            bodies
                .chain(responses)
                .flat_map(crate::model::MediaType::schemas),
        );
        let headers = operation
            .responses
            .iter()
            .flat_map(|response| &response.headers);
        pending.extend(headers.map(|header| header.schema));
    }
    let mut seen = vec![false; contract.schemas.len()];
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut seen[id.index()], true)
            && let SchemaKind::Object(keywords) = &contract.schema(id).kind
        {
            keywords.for_each_child(|child| pending.push(child));
            pending.extend(keywords.reference);
            if let Some(chosen) = &keywords.discriminator {
                pending.extend(chosen.mapping.iter().map(|(_, target)| *target));
                pending.extend(chosen.default);
            }
        }
    }
    seen
}
