//! Bytes in JSON, which is text, of the set `interoperable`.

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Dialect, MediaType, SchemaId, SchemaKind};

/// Reports `format: binary` of schemas whose values are in JSON.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let contract = context.contract;
    let mut pending: Vec<SchemaId> = Vec::new();
    for operation in contract.all_operations() {
        let bodies = operation.request_body.iter().map(|body| &body.content);
        let responses = operation.responses.iter().map(|response| &response.content);
        let json = bodies.chain(responses).flatten().filter(|it| is_json(it));
        pending.extend(json.flat_map(MediaType::schemas));
    }
    let mut seen = vec![false; contract.schemas.len()];
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
            continue;
        };
        keywords.for_each_child(|child| pending.push(child));
        pending.extend(keywords.reference);
        if keywords.format.as_deref() != Some("binary") {
            continue;
        }
        let Some(value) = context.origins.nodes[id.index()].get("format") else {
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

fn is_json(media: &MediaType) -> bool {
    let essence = media.name.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json")
}
