//! The report of `lint` for programs.

use std::collections::BTreeSet;

use ::policy::{Places, explain};
use contract::rules::Rule;
use contract::source::Span;
use contract::{Diagnostic, Severity, Sources};
use serde_json::{Value, json};

use super::Report;
use crate::forms::{annotation, location, sarif as log};
use crate::workspace;

pub(super) fn json(report: &Report) -> String {
    format!("{:#}\n", value(report))
}

pub(super) fn value(report: &Report) -> Value {
    let places = Places::of(&report.sources);
    let findings: Vec<Value> = report
        .diagnostics
        .iter()
        .map(|found| {
            let mut value = place(&report.sources, found.span);
            value["rule"] = found.code.into();
            value["set"] = explain(found.code).map(|rule| rule.set.name()).into();
            value["severity"] = word(found.severity).into();
            value["message"] = found.message.clone().into();
            value["help"] = found.help.clone().into();
            value["pointer"] = places.pointer(found.span).into();
            value["related"] = related(&report.sources, found);
            value["edits"] = edits(&report.sources, found);
            value
        })
        .collect();
    json!({
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "refused": report.is_refused(),
        "findings": findings,
    })
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn place(sources: &Sources, span: Span) -> Value {
    let at = sources.line_column(span);
    json!({ "file": sources.file(span.file).name, "line": at.line, "column": at.column })
}

fn related(sources: &Sources, found: &Diagnostic) -> Value {
    let related = found.related.iter().map(|(span, label)| {
        let mut value = place(sources, *span);
        value["label"] = label.as_str().into();
        value
    });
    related.collect()
}

fn edits(sources: &Sources, found: &Diagnostic) -> Value {
    let edits = found.edits.iter().map(|edit| {
        let mut value = place(sources, edit.span);
        value["old"] = sources.text(edit.span).into();
        value["new"] = edit.replacement.as_str().into();
        value
    });
    edits.collect()
}

/// Returns a line for each diagnostic, as GitHub Actions reads annotations.
pub(super) fn github(report: &Report) -> String {
    let lines = report.diagnostics.iter().map(|found| {
        let file = &report.sources.file(found.span.file).name;
        let at = report.sources.line_column(found.span);
        let help = found.help.as_ref();
        let help = help.map_or(String::new(), |help| format!("\nhelp: {help}"));
        annotation(
            word(found.severity),
            Some((file, at)),
            found.code,
            &format!("{}{help}", found.message),
        )
    });
    lines.collect()
}

/// Returns a SARIF 2.1.0 log, with the descriptions of the rules that have reported something.
pub(super) fn sarif(report: &Report) -> String {
    let at = |span: Span| {
        let file = &report.sources.file(span.file).name;
        location(file, report.sources.line_column(span))
    };
    let results = report.diagnostics.iter().map(|found| {
        let related = found.related.iter().map(|(span, label)| {
            let mut location = at(*span);
            location["message"] = json!({ "text": label });
            location
        });
        json!({
            "ruleId": found.code,
            "level": word(found.severity),
            "message": { "text": match &found.help {
                Some(help) => format!("{}; {help}", found.message),
                None => found.message.clone(),
            }},
            "locations": [at(found.span)],
            "relatedLocations": related.collect::<Vec<_>>(),
        })
    });
    let codes: BTreeSet<&str> = report.diagnostics.iter().map(|found| found.code).collect();
    let rules = codes.into_iter().map(|code| match explain(code) {
        Some(rule) => described(rule),
        // A rule of the policy's author.
        None => json!({ "id": code }),
    });
    log(
        &format!("{} lint", workspace::called()),
        &rules.collect::<Vec<_>>(),
        &results.collect::<Vec<_>>(),
    )
}

fn described(rule: &Rule) -> Value {
    json!({
        "id": rule.code,
        "shortDescription": { "text": rule.summary },
        "fullDescription": { "text": rule.why },
        "help": { "text": rule.markdown(), "markdown": rule.markdown() },
        "defaultConfiguration": { "level": word(rule.severity) },
        "properties": { "tags": [rule.set.name()] },
    })
}
