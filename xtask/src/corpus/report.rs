//! The table of results, with a line for each document.

use std::fmt;

use contract::Contract;
use contract::model::SchemaKind;

/// The keywords that are counted as documentation, since they constrain no value.
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

/// The result of generating and checking the crates of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The crates compile without warnings.
    Compiles,
    /// The crates compile with warnings. Holds the first one.
    Warns(String),
    /// The crates do not compile, or could not be generated. Holds the first error.
    Broken(String),
    /// The document has errors. Holds the code of the first error.
    Invalid(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compiles => f.write_str("compiles"),
            Self::Warns(first) => write!(f, "warns: {first}"),
            Self::Broken(first) => write!(f, "broken: {first}"),
            Self::Invalid(code) => write!(f, "invalid: {code}"),
        }
    }
}

/// A line of the table: the result for one document.
#[derive(Debug)]
pub(super) struct Row {
    /// The name of the document's file, without its extension.
    pub(super) name: String,
    /// The number of operations in the contract.
    pub(super) operations: usize,
    /// The number of operations in the server.
    pub(super) server: usize,
    /// The number of webhooks and callbacks.
    pub(super) events: usize,
    /// The number of operations whose request in the client progenitor writes.
    pub(super) progenitor: usize,
    /// The number of operations whose request in the client this generator writes itself.
    pub(super) own: usize,
    /// The number of keywords that generated code enforces.
    pub(super) enforced: usize,
    /// The number of keywords that are kept as documentation.
    pub(super) documented: usize,
    errors: usize,
    warnings: usize,
    /// The time to read the document and to generate the crates, in milliseconds.
    pub(super) milliseconds: u128,
    /// The number of lines of generated Rust.
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

    /// Returns the number of operations of the server or of the client, whichever has fewer.
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

/// Returns how many keywords of a contract's schemas are enforced, and how many are only kept as
/// documentation.
pub(super) fn keywords(contract: &Contract) -> (usize, usize) {
    let (mut enforced, mut documented) = (0, 0);
    for schema in &contract.schemas {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        for (key, _) in &keywords.raw {
            let describes = key == "format" && !keywords.format.as_deref().is_some_and(narrows);
            if describes || ANNOTATIONS.contains(&&**key) || key.starts_with("x-") {
                documented += 1;
            } else {
                enforced += 1;
            }
        }
        // The raw keywords do not include those that contain schemas.
        enforced += usize::from(!keywords.properties.is_empty()) + keywords.all_of.len().min(1);
        enforced += keywords.any_of.len().min(1) + keywords.one_of.len().min(1);
        enforced += usize::from(keywords.reference.is_some()) + usize::from(keywords.not.is_some());
    }
    (enforced, documented)
}

/// Returns whether a format rejects some values, by a check or by the Rust type that it selects.
fn narrows(format: &str) -> bool {
    codegen::ir::format_is_enforced(format)
        || matches!(
            format,
            "int32" | "int64" | "uint32" | "uint64" | "float" | "double"
        )
}

/// Returns the line below the table, with the totals.
pub(super) fn summary(rows: &[Row]) -> String {
    let count = |is: fn(&Outcome) -> bool| rows.iter().filter(|row| is(&row.outcome)).count();
    let operations: usize = rows.iter().map(|row| row.operations).sum();
    let carried: usize = rows.iter().map(Row::carried).sum();
    format!(
        "{} documents: {} compile, {} compile with warnings, {} are broken, {} are invalid; {carried} of {operations} \
         operations are on both sides",
        rows.len(),
        count(|outcome| *outcome == Outcome::Compiles),
        count(|outcome| matches!(outcome, Outcome::Warns(_))),
        count(|outcome| matches!(outcome, Outcome::Broken(_))),
        count(|outcome| matches!(outcome, Outcome::Invalid(_))),
    )
}
