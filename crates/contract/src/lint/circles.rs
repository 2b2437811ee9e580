//! Schemas that contain themselves without a property or item in between.

use super::context::Context;
use crate::circles;
use crate::diagnostic::Diagnostic;
use crate::model::SchemaId;
use crate::source::Span;

/// Reports each cycle of schemas that contain themselves without a property or item in between, as
/// recorded when the cycles were broken.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let reference = |id: &SchemaId| context.origins.nodes[id.index()].get("$ref");
    for circle in &context.changes.circles {
        let mut spans = Vec::new();
        for id in circle {
            let Some(reference) = reference(id) else {
                continue;
            };
            // A child refers to its parent from `allOf`, and this is the reference that is one too many.
            let pointer = &context.contract.schemas[id.index()].pointer;
            let above = pointer.rsplit_once('/').map(|(above, _)| above);
            let is_child = above.is_some_and(|above| above.ends_with("/allOf"));
            spans.push((!is_child, reference.span));
        }
        spans.sort_unstable();
        let composed = spans.len() < circle.len();
        let spans: Vec<Span> = spans.into_iter().map(|(_, span)| span).collect();
        diagnostics.extend(circles::diagnostic(&spans, composed));
    }
}
