//! Judges a revision of a document: by `lint`, and by `diff` against the base.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Arguments;
use crate::{diff, lint};

/// The maximum number of findings that the page shows of each command.
const MOST_FINDINGS: usize = 500;

/// A revision of the document, judged.
#[derive(Debug)]
pub(super) struct Judged {
    /// How many revisions there were, with this one.
    pub(super) number: u64,
    /// Whether the document can be used.
    pub(super) is_readable: bool,
    /// Whether the page and the mock show this revision.
    pub(super) is_current: bool,
    pub(super) has_errors: bool,
    /// The report of `lint`.
    pub(super) findings: Value,
    /// The report of `diff`, or its error. `None` until both revisions are compared.
    pub(super) changes: Option<Value>,
    /// What kept the revision from being judged or shown.
    pub(super) problem: Option<String>,
    /// The time from the change to this judgement, in milliseconds.
    pub(super) millis: u64,
    /// The files that the document consists of.
    pub(super) files: Vec<PathBuf>,
}

impl Judged {
    /// Returns what the page gets.
    pub(super) fn json(&self) -> Value {
        json!({
            "revision": self.number,
            "isCurrent": self.is_current,
            "findings": self.findings,
            "changes": self.changes,
            "problem": self.problem,
            "millis": self.millis,
        })
    }
}

/// Lints the document, and returns the report, or why there is none.
pub(super) fn judge(arguments: &Arguments) -> Judged {
    let mut judged = Judged {
        number: 0,
        is_readable: false,
        is_current: false,
        has_errors: true,
        findings: Value::Null,
        changes: None,
        problem: None,
        millis: 0,
        files: Vec::new(),
    };
    match lint::judge(&arguments.file, &arguments.reading, &arguments.choice) {
        Ok(found) => {
            judged.is_readable = found.is_readable;
            judged.has_errors = found.has_errors;
            judged.findings = bounded(found.report);
            judged.files = found.files;
        }
        Err(error) => judged.problem = Some(format!("{error:#}")),
    }
    judged
}

/// Compares the document with the one at the base.
pub(super) fn compare(arguments: &Arguments) -> Value {
    let base = &arguments.base;
    let compared = diff::judge(&arguments.file, base, &arguments.reading, &arguments.choice);
    let mut changes = match compared {
        Ok(report) => bounded(report),
        Err(error) => json!({ "unknown": format!("{error:#}") }),
    };
    changes["base"] = base.as_str().into();
    changes
}

/// Returns a report with a bounded number of findings, and how many more there are.
fn bounded(mut report: Value) -> Value {
    if let Some(findings) = report["findings"].as_array_mut() {
        let more = findings.len().saturating_sub(MOST_FINDINGS);
        findings.truncate(MOST_FINDINGS);
        report["more"] = more.into();
    }
    report
}
