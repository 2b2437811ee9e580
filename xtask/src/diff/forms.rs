//! The report of `diff` for programs, and as a changelog.

use compatibility::{Finding, Kind, Witness};
use contract::diagnostic::harmless;
use contract::source::Span;
use serde_json::{Value, json};

use super::{Comparison, Document};

pub(super) fn json(comparison: &Comparison) -> String {
    let version = &comparison.report.version;
    let findings: Vec<Value> = comparison
        .report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "kind": key(finding.kind),
                "rule": finding.rule,
                "message": finding.message,
                "gates": comparison.is_gating(finding),
                "base": place(&comparison.base, finding.base),
                "revision": place(&comparison.revision, finding.revision),
                "operations": finding.operations,
                "witness": finding.witness.as_ref().map(witness),
            })
        })
        .collect();
    let report = json!({
        "refused": comparison.is_refused(),
        "version": {
            "base": version.base,
            "revision": version.revision,
            "needed": version.needed,
            "enough": version.is_enough,
        },
        "findings": findings,
    });
    format!("{report:#}\n")
}

fn key(kind: Kind) -> String {
    kind.words().replace([' ', '-'], "_")
}

fn place(document: &Document, span: Option<Span>) -> Value {
    let Some(span) = span else {
        return Value::Null;
    };
    let (file, at) = document.place(span);
    json!({ "file": file, "line": at.line, "column": at.column })
}

fn witness(witness: &Witness) -> Value {
    let kind = match witness {
        Witness::Request(_) => "request",
        Witness::Message(_) => "message",
        Witness::Value(_) => "value",
    };
    json!({ "kind": kind, "text": witness.text() })
}

/// Returns a line for each finding, as GitHub Actions reads annotations.
pub(super) fn github(comparison: &Comparison) -> String {
    let escape = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let property = |text: &str| escape(text).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for finding in &comparison.report.findings {
        let level = match finding.kind {
            _ if comparison.is_gating(finding) => "error",
            Kind::Compatible => "notice",
            _ => "warning",
        };
        let at = finding.revision.map_or(String::new(), |span| {
            let (file, at) = comparison.revision.place(span);
            format!(
                "file={},line={},col={},",
                property(&file),
                at.line,
                at.column
            )
        });
        let title = property(&format!("{}: {}", finding.kind.words(), finding.rule));
        let more = match &finding.witness {
            Some(witness) => format!("\n{}", witness.text()),
            None => String::new(),
        };
        let message = escape(&format!("{}{more}", finding.message));
        out.push_str(&format!("::{level} {at}title={title}::{message}\n"));
    }
    out
}

/// Returns a SARIF 2.1.0 log.
pub(super) fn sarif(comparison: &Comparison) -> String {
    let mut rules: Vec<&str> = comparison
        .report
        .findings
        .iter()
        .map(|finding| finding.rule)
        .collect();
    rules.sort_unstable();
    rules.dedup();
    let location = |document: &Document, span: Span| {
        let (file, at) = document.place(span);
        json!({ "physicalLocation": {
            "artifactLocation": { "uri": file },
            "region": { "startLine": at.line, "startColumn": at.column },
        }})
    };
    let results: Vec<Value> = comparison
        .report
        .findings
        .iter()
        .map(|finding| {
            let level = match finding.kind {
                _ if comparison.is_gating(finding) => "error",
                Kind::Compatible => "note",
                _ => "warning",
            };
            let mut result = json!({
                "ruleId": finding.rule,
                "level": level,
                "message": { "text": finding.message },
                "properties": {
                    "kind": key(finding.kind),
                    "operations": finding.operations,
                    "witness": finding.witness.as_ref().map(witness),
                },
            });
            if let Some(span) = finding.revision {
                result["locations"] = json!([location(&comparison.revision, span)]);
            }
            if let Some(span) = finding.base {
                result["relatedLocations"] = json!([location(&comparison.base, span)]);
            }
            result
        })
        .collect();
    let rules: Vec<Value> = rules
        .into_iter()
        .map(|rule| json!({ "id": rule }))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "cargo xtask diff", "rules": rules } },
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// Returns a changelog.
pub(super) fn markdown(comparison: &Comparison) -> String {
    let version = &comparison.report.version;
    let mut out = format!(
        "# Changes from {} to {}\n",
        prose(&version.base),
        prose(&version.revision)
    );
    if let Some(needed) = &version.needed
        && !version.is_enough
    {
        out.push_str(&format!("\nThe version should be at least {needed}.\n"));
    }
    if comparison.report.findings.is_empty() {
        out.push_str("\nNothing has changed on the wire.\n");
    }
    for kind in Kind::ALL {
        let findings: Vec<&Finding> = comparison
            .report
            .findings
            .iter()
            .filter(|finding| finding.kind == kind)
            .collect();
        if findings.is_empty() {
            continue;
        }
        let mut words = kind.words().to_owned();
        words[..1].make_ascii_uppercase();
        out.push_str(&format!("\n## {words}\n\n"));
        for finding in findings {
            out.push_str(&format!("- {}\n", prose(&finding.message)));
            if !finding.operations.is_empty() {
                let operations: Vec<String> = finding
                    .operations
                    .iter()
                    .map(|name| format!("`{}`", harmless(name).replace('`', "'")))
                    .collect();
                out.push_str(&format!("  Reaches {}.\n", operations.join(", ")));
            }
            if let Some(witness) = &finding.witness {
                out.push_str(&format!("\n      {}\n\n", harmless(witness.text())));
            }
        }
    }
    out
}

/// Returns a message as Markdown that shows its characters as they are: its code spans, and all else
/// with escapes. A value of a document can end a code span, and then is escaped itself.
fn prose(message: &str) -> String {
    let message = harmless(message);
    let pieces: Vec<&str> = message.split('`').collect();
    let last = pieces.len() - 1;
    let mut out = String::new();
    for (index, piece) in pieces.into_iter().enumerate() {
        if index % 2 == 1 && index < last && !piece.is_empty() {
            out.push_str(&format!("`{piece}`"));
            continue;
        }
        if index % 2 == 1 {
            out.push_str(if index < last { "\\`\\`" } else { "\\`" });
        }
        for character in piece.chars() {
            if "\\*_[]<>&~|!$".contains(character) {
                out.push('\\');
            }
            out.push(character);
        }
    }
    out
}
