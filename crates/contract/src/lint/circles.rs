//! Schemas that contain themselves without a property or item in between.

use super::context::Context;
use crate::circles;
use crate::diagnostic::Diagnostic;

/// Reports each cycle of schemas that contain themselves without a property or item in between, as
/// recorded when the cycles were broken.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let reference = |id: &crate::model::SchemaId| context.origins.nodes[id.index()].get("$ref");
    for circle in &context.changes.circles {
        let spans = circle.iter().filter_map(|id| Some(reference(id)?.span));
        let composed = circle.iter().any(|id| reference(id).is_none());
        diagnostics.extend(circles::diagnostic(spans.collect(), composed));
    }
}
