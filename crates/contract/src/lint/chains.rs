//! Chains of `allOf` that are too long for the fields of generated types.

use super::context::Context;
use super::parts::parts_first;
use crate::diagnostic::Diagnostic;
use crate::model::{MOST_LINKS, SchemaKind};

/// Reports each schema that makes a chain of `allOf` longer than [`MOST_LINKS`]. What is made of it is
/// longer still, and not reported.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let schemas = &context.contract.schemas;
    let mut links = vec![0; schemas.len()];
    for at in parts_first(context.contract) {
        let SchemaKind::Object(keywords) = &schemas[at].kind else {
            continue;
        };
        let of_target = keywords.reference.map_or(0, |id| links[id.index()]);
        let members = keywords.all_of.iter().map(|id| links[id.index()] + 1);
        let own = members.max().unwrap_or(0);
        links[at] = own.max(of_target);
        if own != MOST_LINKS + 1 {
            continue;
        }
        let node = context.origins.nodes[at];
        let span = node
            .entry("allOf")
            .map_or(node.span, |entry| entry.key_span);
        let message = format!(
            "this is link {own} of a chain of `allOf`, and generated types have the properties of {MOST_LINKS} as fields: this schema, and what is made of it, has those of the other links as JSON"
        );
        diagnostics.push(
            Diagnostic::warning("too-many-links", span, message)
                .help("put the properties of several links into one schema"),
        );
    }
}
