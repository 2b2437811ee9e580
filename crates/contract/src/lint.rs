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
mod parts;
mod paths;
mod querystring;
mod security;
mod unbounded;
mod unused;
mod values;

pub(crate) use context::Context;

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;

/// A set of lints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LintSet {
    /// What the standard forbids, and what probably does not say what its author means. This set
    /// always runs.
    Correct,
    /// What is right, but serves callers or servers badly.
    Style,
}

/// Runs the lints of the set [`LintSet::Correct`] and of `sets`.
pub(crate) fn check(context: &Context<'_, '_>, sets: &BTreeSet<LintSet>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    operations::check(context, &mut diagnostics);
    paths::check(context, &mut diagnostics);
    querystring::check(context, &mut diagnostics);
    security::check(context, &mut diagnostics);
    unused::check(context, &mut diagnostics);
    circles::check(context, &mut diagnostics);
    impossible::check(context, &mut diagnostics);
    paging::check(context, &mut diagnostics);
    one_way::check(context, &mut diagnostics);
    values::check(context, &mut diagnostics);
    if sets.contains(&LintSet::Style) {
        unbounded::check(context, &mut diagnostics);
    }
    diagnostics
}
