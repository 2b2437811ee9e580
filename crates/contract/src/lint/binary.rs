//! Bytes in JSON, which is text, of the set `interoperable`.

use std::collections::BTreeSet;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::media_type::is_json;
use crate::model::{Contract, Dialect, Keywords, MediaType, SchemaId, SchemaKind, Types};

/// Reports `format: binary` of schemas whose values are in JSON.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let contract = context.contract;
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for operation in contract.all_operations() {
        let bodies = operation.request_body.iter().map(|body| &body.content);
        let responses = operation.responses.iter().map(|response| &response.content);
        sent.extend(in_json(bodies.flatten()));
        received.extend(in_json(responses.flatten()));
    }
    let mut found = BTreeSet::new();
    // What is not sent in requests or in responses is not in their JSON.
    found.extend(bytes(contract, sent, |keywords| keywords.read_only));
    found.extend(bytes(contract, received, |keywords| keywords.write_only));
    for index in found {
        let Some(value) = context.origins.nodes[index].get("format") else {
            continue;
        };
        diagnostics.push(
            Diagnostic::warning(
                "binary-in-json",
                value.span,
                "JSON is text, so it cannot hold the bytes of `format: binary`",
            )
            .help(if contract.dialect == Dialect::V30 {
                "write `format: byte` for bytes in Base64"
            } else {
                "write `contentEncoding: base64` instead"
            }),
        );
    }
}

fn in_json<'c>(content: impl Iterator<Item = &'c MediaType>) -> impl Iterator<Item = SchemaId> {
    content
        .filter(|media| is_json(&media.name))
        .flat_map(MediaType::schemas)
}

/// Returns the indexes of the schemas of bytes that are part of values of these schemas, without those
/// that are left out.
fn bytes(
    contract: &Contract,
    mut pending: Vec<SchemaId>,
    is_left_out: impl Fn(&Keywords) -> bool,
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut seen = vec![false; contract.schemas.len()];
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
            continue;
        };
        if is_left_out(keywords) {
            continue;
        }
        let singles = keywords.singles().into_iter();
        pending.extend(singles.filter_map(|(key, id)| id.filter(|_| !NOT_PARTS.contains(&key))));
        let lists = keywords.lists().into_iter();
        pending.extend(lists.flat_map(|(_, ids)| ids.iter().copied()));
        let maps = keywords.maps().into_iter();
        let maps = maps.filter(|(key, _)| !NOT_PARTS.contains(key));
        pending.extend(maps.flat_map(|(_, map)| map.values().copied()));
        pending.extend(keywords.reference);
        let takes_strings = |types: Types| types.contains(Types::STRING);
        if keywords.format.as_deref() == Some("binary")
            && keywords.types.is_none_or(takes_strings)
            // These bytes are written as text.
            && keywords.content_encoding.is_none()
        {
            found.push(id.index());
        }
    }
    found
}

/// The keywords whose schemas a value need not fit, or need not even be asked about.
const NOT_PARTS: [&str; 4] = ["not", "if", "$defs", "propertyNames"];
