//! Multipart bodies whose parts have positions and no names: what generated code does not apply.

use std::collections::HashSet;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::positions::positions;

/// Reports what is not applied to the parts of bodies, each place once.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = HashSet::new();
    for operation in context.contract.all_operations() {
        let requests = operation.request_body.iter().map(|body| &body.content);
        let responses = operation.responses.iter().map(|response| &response.content);
        for media in requests.chain(responses).flatten() {
            if !seen.insert((media.span, &media.pointer)) {
                continue;
            }
            let (_, unapplied) = positions(context.contract, media);
            diagnostics.extend(unapplied.into_iter().map(|found| {
                Diagnostic::warning(found.code, media.span, found.message).help(found.help)
            }));
        }
    }
}
