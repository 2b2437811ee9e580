//! Lints: rules about what the parts of a contract say together, which report diagnostics.
//!
//! A lint is an error only if the standard forbids what is written or nothing can be generated from
//! it. Lints change nothing: [`syntax`](crate::syntax) has checked each object before, and
//! [`normalise`](crate::normalise) has changed the contract and recorded the changes.

mod circles;
mod context;
mod impossible;
mod one_way;
mod operations;
mod paging;
mod paths;
mod security;
mod unused;
mod values;

pub(crate) use context::Context;

use crate::diagnostic::Diagnostic;

/// Runs every lint.
pub(crate) fn check(context: &Context<'_, '_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    operations::check(context, &mut diagnostics);
    paths::check(context, &mut diagnostics);
    security::check(context, &mut diagnostics);
    unused::check(context, &mut diagnostics);
    circles::check(context, &mut diagnostics);
    impossible::check(context, &mut diagnostics);
    paging::check(context, &mut diagnostics);
    one_way::check(context, &mut diagnostics);
    values::check(context, &mut diagnostics);
    diagnostics
}
