//! Judges a contract: what is wrong or probably wrong with what the parts of a document say together.
//!
//! Only what the standard forbids and what nothing can be made of is an error; the rest is a warning. Nothing is
//! changed here: [`syntax`](crate::syntax) has checked each object, [`normalise`](crate::normalise) has changed the
//! contract and says what it has changed.

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

/// Checks what the parts of the document say together.
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
