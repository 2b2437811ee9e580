//! Required properties that only one side sends, in what the other side sends.
//!
//! In 3.0 such a property is required in answers alone if it is read-only, in requests alone if it is write-only; one
//! schema for both ways then leaves it optional. In 3.1 it is required wherever its schema is.

use std::collections::BTreeSet;

use crate::build::Built;
use crate::bundle::for_each_child;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Dialect, MediaType, Operation, SchemaId, SchemaKind};

/// Reports them, and has 3.0 mean what it says.
pub(super) fn check(built: &mut Built<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let contract = &built.contract;
    let asked = reached(contract, |operation| {
        operation
            .request_body
            .iter()
            .flat_map(|body| &body.content)
            .collect()
    });
    let answered = reached(contract, |operation| {
        operation
            .responses
            .iter()
            .flat_map(|response| &response.content)
            .collect()
    });
    let mut found = Vec::new();
    for (way, ids) in [(Way::Request, asked), (Way::Answer, answered)] {
        for id in ids {
            found.extend(
                misplaced(contract, id, way)
                    .into_iter()
                    .map(|name| (id, name, way)),
            );
        }
    }
    let dialect = contract.dialect;
    for (id, name, way) in found {
        let node = built.nodes[id.0 as usize];
        let property = node
            .get("properties")
            .and_then(|properties| properties.entry(&name));
        let span = property.map_or(node.span, |entry| entry.key_span);
        diagnostics.push(finding(&name, way, dialect, span));
        if dialect == Dialect::V30
            && let SchemaKind::Object(keywords) = &mut built.contract.schemas[id.0 as usize].kind
        {
            keywords.required.retain(|required| *required != name);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Request,
    Answer,
}

/// The schemas that bodies are made of.
fn reached(
    contract: &Contract,
    bodies: impl Fn(&Operation) -> Vec<&MediaType>,
) -> BTreeSet<SchemaId> {
    let mut pending: Vec<SchemaId> = Vec::new();
    let mut operations: Vec<&Operation> = contract
        .operations
        .iter()
        .chain(&contract.webhooks)
        .collect();
    while let Some(operation) = operations.pop() {
        operations.extend(&operation.callbacks);
        pending.extend(
            bodies(operation)
                .into_iter()
                .filter_map(|media| media.schema),
        );
    }
    let mut seen = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if seen.insert(id)
            && let SchemaKind::Object(keywords) = &contract.schema(id).kind
        {
            pending.extend(keywords.reference);
            for_each_child(keywords, |child| pending.push(child));
        }
    }
    seen
}

/// The required properties that do not travel this way.
fn misplaced(contract: &Contract, id: SchemaId, way: Way) -> Vec<String> {
    let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
        return Vec::new();
    };
    let is_misplaced = |name: &&String| {
        let property = keywords
            .properties
            .get(*name)
            .map(|id| &contract.schema(*id).kind);
        match property {
            Some(SchemaKind::Object(property)) if way == Way::Request => property.read_only,
            Some(SchemaKind::Object(property)) => property.write_only,
            _ => false,
        }
    };
    keywords
        .required
        .iter()
        .filter(is_misplaced)
        .cloned()
        .collect()
}

fn finding(name: &str, way: Way, dialect: Dialect, span: crate::source::Span) -> Diagnostic {
    let (kind, whole) = match way {
        Way::Request => ("read-only", "a request"),
        Way::Answer => ("write-only", "an answer"),
    };
    let consequence = match dialect {
        Dialect::V30 => "so that its type leaves it optional both ways",
        Dialect::V31 => "which has to hold it all the same",
    };
    Diagnostic::warning(
        "one-way-required",
        span,
        format!(
            "`{name}` is required and {kind}, and its schema is part of {whole}, {consequence}"
        ),
    )
    .help(format!(
        "describe {whole} by a schema of its own, or leave it out of `required`"
    ))
}
