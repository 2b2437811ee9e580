//! Required properties that are sent in one direction only, in bodies of the other direction.

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::normalise::Way;
use crate::source::Span;

/// Reports required properties that are read-only in a request body, or write-only in a response
/// body.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for one_way in &context.changes.one_way {
        let node = context.origins.nodes[one_way.schema.index()];
        let property = node
            .get("properties")
            .and_then(|properties| properties.entry(&one_way.property));
        let span = property.map_or(node.span, |entry| entry.key_span);
        let dialect = context.contract.dialect;
        diagnostics.push(diagnostic(&one_way.property, one_way.way, dialect, span));
    }
}

fn diagnostic(name: &str, way: Way, dialect: Dialect, span: Span) -> Diagnostic {
    let (kind, whole) = match way {
        Way::Request => ("read-only", "what callers send"),
        Way::Response => ("write-only", "what the API sends"),
    };
    let consequence = match dialect {
        Dialect::V30 => "so its type makes it optional in both directions",
        Dialect::V31 | Dialect::V32 => "where it is required nevertheless",
    };
    Diagnostic::warning(
        "one-way-required",
        span,
        format!(
            "`{name}` is required and {kind}, and its schema is part of {whole}, {consequence}"
        ),
    )
    .help(format!(
        "use a separate schema for {whole}, or remove the property from `required`"
    ))
}
