//! Lints: rules about what the parts of a contract say together, which report diagnostics.
//!
//! A lint is an error only if the standard forbids what is written or nothing can be generated from
//! it. Lints change nothing: [`syntax`](crate::syntax) has checked each object before, and
//! [`normalise`](crate::normalise) has changed the contract and recorded the changes.

mod binary;
mod chains;
mod circles;
mod context;
mod contradictions;
mod discriminators;
mod expressed;
mod expressions;
mod impossible;
mod interoperable;
mod labels;
mod link_values;
mod links;
mod one_way;
mod operations;
mod overlapping;
mod paging;
mod parts;
mod paths;
mod positions;
mod querystring;
mod required;
mod security;
mod similar;
mod statuses;
mod style;
mod unbounded;
mod unused;
mod values;
mod ways;

pub(crate) use context::Context;

use std::collections::{BTreeSet, HashSet};

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::validate::Validation;

/// A set of lints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LintSet {
    /// What the standard forbids, and what probably does not say what its author means. This set
    /// always runs.
    Correct,
    /// What is right, but which tools read differently.
    Interoperable,
    /// What is right, but serves callers or servers badly.
    Style,
}

impl LintSet {
    /// Every set, those that matter most first.
    pub const ALL: [Self; 3] = [Self::Correct, Self::Interoperable, Self::Style];

    /// Returns what the rules of the set report, without a full stop.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Correct => {
                "What the standard forbids, and what probably does not say what its author means"
            }
            Self::Interoperable => "What is right, but which tools read differently",
            Self::Style => "What is right, but serves callers or servers badly",
        }
    }

    /// Returns the name of the set, as in `--set style`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Interoperable => "interoperable",
            Self::Style => "style",
        }
    }
}

/// Returns the spans of dates in values that their schemas accept as the texts that they are, if one of
/// these diagnostics is about a date.
pub(crate) fn right_dates(
    context: &Context<'_, '_>,
    validation: &Validation<'_>,
    found: &[Diagnostic],
) -> HashSet<Span> {
    values::right_dates(context, validation, found)
}

/// Runs the lints of operations and of circles, which are quick. All lints whose mistakes are repaired in a document
/// of others are among them, except those of values.
pub(crate) fn check_operations(context: &Context<'_, '_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    operations::check(context, &mut diagnostics);
    paths::check(context, &mut diagnostics);
    labels::check(context, &mut diagnostics);
    querystring::check(context, &mut diagnostics);
    security::check(context, &mut diagnostics);
    circles::check(context, &mut diagnostics);
    diagnostics
}

/// Runs the other lints of the set [`LintSet::Correct`], except those of values.
pub(crate) fn check(context: &Context<'_, '_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    unused::check(context, &mut diagnostics);
    impossible::check(context, &mut diagnostics);
    contradictions::check(context, &mut diagnostics);
    discriminators::check(context, &mut diagnostics);
    similar::check(context, &mut diagnostics);
    required::check(context, &mut diagnostics);
    overlapping::check(context, &mut diagnostics);
    statuses::check(context, &mut diagnostics);
    links::check(context, &mut diagnostics);
    link_values::check(context, &mut diagnostics);
    expressions::check(context, &mut diagnostics);
    paging::check(context, &mut diagnostics);
    one_way::check(context, &mut diagnostics);
    positions::check(context, &mut diagnostics);
    ways::check(context, &mut diagnostics);
    chains::check(context, &mut diagnostics);
    diagnostics
}

/// Runs the lints of values, and those of `sets`. Adds to what the others have found.
pub(crate) fn check_values(
    context: &Context<'_, '_>,
    validation: &Validation<'_>,
    sets: &BTreeSet<LintSet>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    values::check(context, validation, diagnostics);
    if sets.contains(&LintSet::Interoperable) {
        interoperable::check(context, diagnostics);
    }
    if sets.contains(&LintSet::Style) {
        style::check(context, diagnostics);
    }
}
