//! Links: that each names one operation.

use super::walk::{Item, Walk};
use crate::resolve::RefProblem;

/// Checks that a link names one operation, in one way.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let id = item.node.entry("operationId");
    let reference = item.node.entry("operationRef");
    // The operation may be declared later in the document, so a lint looks for it.
    if let Some(id) = id
        && let Some(name) = id.value.as_str()
    {
        walk.syntax.named.push((name, id.value.span));
    }
    match (id, reference) {
        (Some(_), Some(reference)) => walk.warning(
            "contradicting-fields",
            reference.key_span,
            "a link has either `operationId` or `operationRef`".to_owned(),
            "remove one of them".to_owned(),
        ),
        (None, None) => walk.warning(
            "missing-keyword",
            item.at,
            "a link needs `operationId` or `operationRef`".to_owned(),
            "add the `operationId` of the operation that it leads to".to_owned(),
        ),
        (None, Some(reference)) => {
            let Some(text) = reference.value.as_str() else {
                return;
            };
            let found = walk.resolver.resolve(item.document, item.node, text);
            if let Err(RefProblem::Dangling(meant)) = found {
                walk.warning(
                    "unknown-operation",
                    reference.value.span,
                    format!("there is no operation at `{text}`"),
                    match meant {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => "write `operationId` with the id of an operation".to_owned(),
                    },
                );
            }
        }
        (Some(_), None) => {}
    }
}
