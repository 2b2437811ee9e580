//! Schemas that no validator could hold in memory.

use super::context::Context;
use crate::bundle::{MOST_WAYS, Ways};
use crate::diagnostic::{Diagnostic, Severity};
use crate::model::SchemaId;

/// Reports the first schema with whose `unevaluatedProperties` or `unevaluatedItems` a validator of the
/// document would take too much memory.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut ways = Ways::of(context.contract);
    let mut left = MOST_WAYS;
    for id in (0..).map(SchemaId).take(context.contract.schemas.len()) {
        if let Some(taken) = ways.own(id, left) {
            left -= taken;
            continue;
        }
        let node = context.origins.nodes[id.index()];
        let keys = ["unevaluatedProperties", "unevaluatedItems"];
        let entry = keys.iter().find_map(|key| node.entry(key));
        let (key, span) = entry.map_or(("unevaluatedProperties", node.span), |entry| {
            (entry.key.as_str(), entry.key_span)
        });
        let message = format!(
            "to check `{key}`, a validator follows more than {MOST_WAYS} ways through the schemas beside it"
        );
        let found = Diagnostic::error("too-many-ways", span, message)
            .help("name fewer schemas several times in `allOf`, `anyOf` and `oneOf`");
        diagnostics.push(if context.is_only_compared {
            Diagnostic {
                severity: Severity::Warning,
                ..found
            }
        } else {
            found
        });
        return;
    }
}
