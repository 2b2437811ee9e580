//! The report of `diff` for programs.

use std::collections::BTreeSet;

use ::policy::Judged;
use compatibility::{Kind, Witness};
use contract::source::Span;
use serde_json::{Value, json};

use super::{Comparison, Document};
use crate::forms::{annotation, location, sarif as log};
use crate::workspace;

pub(super) fn json(comparison: &Comparison) -> String {
    format!("{:#}\n", value(comparison))
}

pub(super) fn value(comparison: &Comparison) -> Value {
    let version = &comparison.report.version;
    let findings = comparison.findings().map(|(finding, judged)| {
        let mut value = judgement(judged);
        value["kind"] = key(finding.kind).into();
        value["rule"] = finding.rule.into();
        value["message"] = finding.message.as_str().into();
        value["base"] = place(&comparison.base, finding.base);
        value["revision"] = place(&comparison.revision, finding.revision);
        value["operations"] = json!(finding.operations);
        value["witness"] = finding.witness.as_ref().map(witness).into();
        value
    });
    json!({
        "refused": comparison.gate.refuses(),
        "version": {
            "base": version.base,
            "revision": version.revision,
            "needed": version.needed,
            "enough": version.is_enough,
        },
        "findings": findings.collect::<Vec<_>>(),
        "rust": rust(comparison),
    })
}

/// Returns whose Rust source breaks, and the versions that the crates need.
fn rust(comparison: &Comparison) -> Value {
    let verdicts = &comparison.rust;
    let findings = comparison.rust_findings().map(|(finding, judged)| {
        let mut value = judgement(judged);
        value["rule"] = finding.rule.into();
        value["item"] = finding.item.as_str().into();
        value["message"] = finding.message.as_str().into();
        value["callers"] = finding.who.callers.into();
        value["implementers"] = finding.who.implementers.into();
        value["crates"] = finding.crates.iter().map(|krate| krate.part()).collect();
        value["base"] = place(&comparison.base, finding.base);
        value["revision"] = place(&comparison.revision, finding.revision);
        value["operations"] = json!(finding.operations);
        value
    });
    let crates = verdicts.crates.iter();
    let needed = crates.map(|one| (one.name.clone(), json!(one.needed.to_string())));
    let low = verdicts.crates.iter().filter(|one| !one.is_enough());
    let low = low.map(|one| (one.name.clone(), json!(one.now.to_string())));
    json!({
        "callers": verdicts.report.findings.iter().any(|finding| finding.who.callers),
        "implementers": verdicts.report.findings.iter().any(|finding| finding.who.implementers),
        "crates": needed.collect::<serde_json::Map<_, _>>(),
        "too_low": low.collect::<serde_json::Map<_, _>>(),
        "findings": findings.collect::<Vec<_>>(),
    })
}

fn judgement(judged: &Judged) -> Value {
    json!({
        "gates": judged.refuses,
        "fingerprint": judged.fingerprint,
        "accepted": judged.accepted,
    })
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
    let line = |level: &str, span: Option<Span>, title: &str, message: &str| {
        let place = span.map(|span| comparison.revision.place(span));
        let place = place.as_ref().map(|(file, at)| (file.as_str(), *at));
        annotation(level, place, title, message)
    };
    let wire = comparison.findings().map(|(finding, judged)| {
        let title = format!("{}: {}", finding.kind.words(), finding.rule);
        let message = match &finding.witness {
            Some(witness) => format!("{}\n{}", finding.message, witness.text()),
            None => finding.message.clone(),
        };
        let level = level(finding.kind, judged, "notice");
        line(level, finding.revision, &title, &message)
    });
    let rust = comparison.rust_findings().map(|(finding, judged)| {
        let title = format!("breaks Rust of {}: {}", finding.who.words(), finding.rule);
        line(
            rust_level(judged),
            finding.revision,
            &title,
            &finding.message,
        )
    });
    wire.chain(rust).collect()
}

/// Returns the level of a finding on the wire; `least` is that of a compatible one.
fn level(kind: Kind, judged: &Judged, least: &'static str) -> &'static str {
    match kind {
        _ if judged.refuses => "error",
        Kind::Compatible => least,
        _ => "warning",
    }
}

fn rust_level(judged: &Judged) -> &'static str {
    if judged.refuses { "error" } else { "warning" }
}

/// Returns a SARIF 2.1.0 log.
pub(super) fn sarif(comparison: &Comparison) -> String {
    let result = |mut result: Value, base: Option<Span>, revision: Option<Span>| {
        let at = |document: &Document, span: Span| {
            let (file, at) = document.place(span);
            json!([location(&file, at)])
        };
        if let Some(span) = revision {
            result["locations"] = at(&comparison.revision, span);
        }
        if let Some(span) = base {
            result["relatedLocations"] = at(&comparison.base, span);
        }
        result
    };
    let wire = comparison.findings().map(|(finding, judged)| {
        let about = json!({
            "ruleId": finding.rule,
            "level": level(finding.kind, judged, "note"),
            "message": { "text": finding.message },
            "partialFingerprints": { "finding/v1": judged.fingerprint },
            "properties": {
                "kind": key(finding.kind),
                "operations": finding.operations,
                "witness": finding.witness.as_ref().map(witness),
            },
        });
        result(about, finding.base, finding.revision)
    });
    let rust = comparison.rust_findings().map(|(finding, judged)| {
        let about = json!({
            "ruleId": finding.rule,
            "level": rust_level(judged),
            "message": { "text": finding.message },
            "partialFingerprints": { "finding/v1": judged.fingerprint },
            "properties": {
                "kind": format!("breaks Rust of {}", finding.who.words()),
                "operations": finding.operations,
            },
        });
        result(about, finding.base, finding.revision)
    });
    let results: Vec<Value> = wire.chain(rust).collect();
    let rules = comparison.findings().map(|(finding, _)| finding.rule);
    let of_rust = comparison.rust_findings().map(|(finding, _)| finding.rule);
    let rules: BTreeSet<&str> = rules.chain(of_rust).collect();
    let rules: Vec<Value> = rules
        .into_iter()
        .map(|rule| json!({ "id": rule }))
        .collect();
    log(&format!("{} diff", workspace::called()), &rules, &results)
}
