//! The table of rules: what each rule reports, why, and an example that it reports beside one that
//! it does not.
//!
//! The examples are the tests of the rules (`tests/linting/table.rs`), and the pages in
//! `docs/rules.md` and of `cargo xtask lint --explain` are written from the table. A rule is added
//! to the file of its topic below; a code that the crate reports and the table lacks fails a test.

mod consistency;
mod frames;
mod interoperable;
mod keywords;
mod operations;
mod overlays;
mod page;
mod parameters;
mod paths;
mod reading;
mod references;
mod schemas;
mod security;
mod style;
mod tags;
mod values;

use crate::diagnostic::Severity;
use crate::lint::LintSet;

/// A rule that diagnostics name with their code.
#[derive(Debug)]
pub struct Rule {
    /// The stable name in kebab-case, such as `dangling-ref`.
    pub code: &'static str,
    /// The set of lints that the rule belongs to.
    pub set: LintSet,
    /// The severity; that of the gravest case, where cases of one rule differ.
    pub severity: Severity,
    /// What the rule reports, in one sentence.
    pub summary: &'static str,
    /// Why that is worth a report, in one or two sentences.
    pub why: &'static str,
    /// What the rule reports and what it does not.
    pub example: Example,
}

/// The example of a rule.
#[derive(Debug)]
pub enum Example {
    /// Two documents.
    Document(Pair),
    /// Two overlays of one document, [`OVERLAID`].
    Overlay(Pair),
    /// No example, and the reason, such as that the document would have 64 MiB.
    None(&'static str),
}

/// Two fragments of which the first breaks a rule and the second does not.
#[derive(Debug)]
pub struct Pair {
    /// The text around the fragments.
    pub frame: &'static Frame,
    /// The fragment that the rule reports, with [`MARK`] in front of the place that it reports. If
    /// there is no mark, it reports the first character.
    pub bad: &'static str,
    /// The fragment that the rule does not report.
    pub good: &'static str,
}

/// The text around the fragments of an example.
#[derive(Debug)]
pub struct Frame {
    /// The name of the file, whose ending says whether it is JSON or YAML.
    pub file: &'static str,
    /// The place of the fragment, such as "the schema of a response".
    pub place: &'static str,
    /// The text, with [`HOLE`] where the fragment belongs.
    pub text: &'static str,
}

/// The place of the fragment in [`Frame::text`].
pub const HOLE: &str = "@@";

/// Stands in front of the place that a rule reports in [`Pair::bad`].
pub const MARK: char = '⟦';

/// The document that the overlays of examples are applied to.
pub const OVERLAID: &str = frames::OVERLAID;

impl Rule {
    /// Returns the description of the rule in Markdown, with its example.
    #[must_use]
    pub fn markdown(&self) -> String {
        page::section(self)
    }
}

/// Returns the descriptions of all rules in Markdown, as in `docs/rules.md`.
#[must_use]
pub fn markdown() -> String {
    page::page(&all())
}

impl Frame {
    /// Returns the text with a fragment in its place.
    #[must_use]
    pub fn fill(&self, fragment: &str) -> String {
        self.text.replace(HOLE, fragment)
    }
}

impl Pair {
    /// Returns the fragment that the rule reports, without the mark.
    #[must_use]
    pub fn bad(&self) -> String {
        self.bad.replace(MARK, "")
    }
}

/// Returns all rules, sorted by code.
#[must_use]
pub fn all() -> Vec<&'static Rule> {
    let mut rules: Vec<&Rule> = TABLES.iter().copied().flatten().collect();
    rules.sort_by_key(|rule| rule.code);
    rules
}

/// Returns the rule with a code, if there is one.
#[must_use]
pub fn find(code: &str) -> Option<&'static Rule> {
    TABLES
        .iter()
        .copied()
        .flatten()
        .find(|rule| rule.code == code)
}

const TABLES: [&[Rule]; 14] = [
    reading::RULES,
    keywords::RULES,
    references::RULES,
    schemas::RULES,
    values::RULES,
    paths::RULES,
    operations::RULES,
    parameters::RULES,
    security::RULES,
    tags::RULES,
    overlays::RULES,
    style::RULES,
    consistency::RULES,
    interoperable::RULES,
];

/// Returns an example of two documents.
const fn document(frame: &'static Frame, bad: &'static str, good: &'static str) -> Example {
    Example::Document(Pair { frame, bad, good })
}
