//! Judges a document: everything that is wrong or probably wrong, each with its place.
//!
//! [`document`] looks at the syntax, [`contract`] at what the model says. Only what the standard forbids
//! and what nothing can be made of is an error; the rest is a warning.

mod bodies;
mod cycles;
mod format;
mod grammar;
mod idle;
mod impossible;
mod objects;
mod one_way;
mod operations;
mod paging;
mod paths;
mod pattern;
mod schema;
mod sections;
mod security;
mod syntax;
mod unused;
mod values;

pub(crate) use grammar::{Field, SCHEMA};
pub(crate) use sections::correct_sections;
pub(crate) use syntax::{Findings, Reference};

use crate::build::Built;
use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::resolve::Resolver;
use crate::source::Sources;

/// Checks the syntax: fields, kinds of value, references.
pub(crate) fn document<'a>(
    resolver: &Resolver<'a>,
    dialect: Dialect,
    diagnostics: &mut Vec<Diagnostic>,
) -> Findings<'a> {
    let findings = syntax::check(resolver, dialect, diagnostics);
    cycles::references(&findings.links, diagnostics);
    findings
}

/// Checks what the parts of the document say together.
pub(crate) fn contract(
    resolver: &Resolver<'_>,
    sources: &Sources,
    built: &mut Built<'_>,
    findings: &Findings<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    operations::check(resolver, built, findings, diagnostics);
    paths::check(resolver, sources, built, diagnostics);
    security::check(resolver, built, diagnostics);
    unused::check(resolver, built, diagnostics);
    cycles::schemas(built, diagnostics);
    impossible::check(built, diagnostics);
    paging::check(resolver, built, diagnostics);
    one_way::check(built, diagnostics);
    values::check(built, diagnostics);
}
