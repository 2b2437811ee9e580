//! The set `style`: what is right, but serves callers, servers or readers badly.

mod casing;
mod operations;
mod paths;
mod patterns;
mod safety;
mod schemas;
mod texts;

use super::context::Context;
use crate::diagnostic::Diagnostic;

/// Runs the lints of the set `style`.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    super::unbounded::check(context, diagnostics);
    operations::check(context, diagnostics);
    casing::check(context, diagnostics);
    schemas::check(context, diagnostics);
    paths::check(context, diagnostics);
    patterns::check(context, diagnostics);
    safety::check(context, diagnostics);
    texts::check(context, diagnostics);
    super::links::unfilled(context, diagnostics);
}
