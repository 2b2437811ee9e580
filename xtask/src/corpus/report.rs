//! What is said about a document.

use std::fmt;

use contract::Contract;
use contract::model::SchemaKind;

/// Keywords that describe and constrain nothing.
const ANNOTATIONS: [&str; 13] = [
    "title",
    "description",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "externalDocs",
    "xml",
    "$comment",
    "contentMediaType",
    "contentEncoding",
    "contentSchema",
];

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Everything compiles, and nothing is warned of.
    Compiles,
    /// Everything compiles, with warnings, of which this is the first.
    Warns(String),
    /// It does not compile, or was not generated; the first error.
    Broken(String),
    /// The document is wrong; the code of the first finding.
    Refused(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compiles => f.write_str("compiles"),
            Self::Warns(first) => write!(f, "warns: {first}"),
            Self::Broken(first) => write!(f, "broken: {first}"),
            Self::Refused(code) => write!(f, "refused: {code}"),
        }
    }
}

/// A line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) operations: usize,
    pub(super) server: usize,
    /// Webhooks and callbacks.
    pub(super) events: usize,
    pub(super) progenitor: usize,
    pub(super) own: usize,
    pub(super) enforced: usize,
    pub(super) documented: usize,
    errors: usize,
    warnings: usize,
    pub(super) milliseconds: u128,
    pub(super) lines: usize,
    pub(super) outcome: Outcome,
}

impl Row {
    pub(super) const HEAD: &str = "document                                      ops server events client (progenitor + ours) \
                                   keywords (enforced + documented) errors warnings    ms  lines result";

    pub(super) fn new(name: String, errors: usize, warnings: usize) -> Self {
        Self {
            name,
            operations: 0,
            server: 0,
            events: 0,
            progenitor: 0,
            own: 0,
            enforced: 0,
            documented: 0,
            errors,
            warnings,
            milliseconds: 0,
            lines: 0,
            outcome: Outcome::Compiles,
        }
    }

    /// Operations that both sides have.
    pub(super) fn carried(&self) -> usize {
        self.server.min(self.progenitor + self.own)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = format!(
            "{} ({} + {})",
            self.progenitor + self.own,
            self.progenitor,
            self.own
        );
        let keywords = format!(
            "{} ({} + {})",
            self.enforced + self.documented,
            self.enforced,
            self.documented
        );
        write!(
            f,
            "{:<44} {:>4} {:>6} {:>6} {client:>28} {keywords:>32} {:>6} {:>8} {:>5} {:>6} {}",
            self.name,
            self.operations,
            self.server,
            self.events,
            self.errors,
            self.warnings,
            self.milliseconds,
            self.lines,
            self.outcome
        )
    }
}

/// How many keywords of a contract's schemas are enforced, and how many are kept as documentation.
pub(super) fn keywords(contract: &Contract) -> (usize, usize) {
    let (mut enforced, mut documented) = (0, 0);
    for schema in &contract.schemas {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        for key in keywords
            .raw
            .as_object()
            .into_iter()
            .flat_map(|keywords| keywords.keys())
        {
            let describes = key == "format" && !keywords.format.as_deref().is_some_and(narrows);
            if describes || ANNOTATIONS.contains(&key.as_str()) || key.starts_with("x-") {
                documented += 1;
            } else {
                enforced += 1;
            }
        }
        // What holds schemas is not among those.
        enforced += usize::from(!keywords.properties.is_empty()) + keywords.all_of.len().min(1);
        enforced += keywords.any_of.len().min(1) + keywords.one_of.len().min(1);
        enforced += usize::from(keywords.reference.is_some()) + usize::from(keywords.not.is_some());
    }
    (enforced, documented)
}

/// Whether a format refuses anything, by a check or by the type that it chooses.
fn narrows(format: &str) -> bool {
    codegen::ir::format_is_enforced(format)
        || matches!(
            format,
            "int32" | "int64" | "uint32" | "uint64" | "float" | "double"
        )
}

/// The table in one line.
pub(super) fn summary(rows: &[Row]) -> String {
    let count = |is: fn(&Outcome) -> bool| rows.iter().filter(|row| is(&row.outcome)).count();
    let operations: usize = rows.iter().map(|row| row.operations).sum();
    let carried: usize = rows.iter().map(Row::carried).sum();
    format!(
        "{} documents: {} compile, {} compile with warnings, {} are broken, {} are refused; {carried} of {operations} \
         operations are on both sides",
        rows.len(),
        count(|outcome| *outcome == Outcome::Compiles),
        count(|outcome| matches!(outcome, Outcome::Warns(_))),
        count(|outcome| matches!(outcome, Outcome::Broken(_))),
        count(|outcome| matches!(outcome, Outcome::Refused(_))),
    )
}
