//! The report of `diff` as text, with excerpts of both documents.

use ::policy::Judged;
use compatibility::{Finding, Kind, RustFinding, Witness};
use contract::diagnostic::{excerpt, harmless};

use super::{Comparison, Document};
use contract::source::Span;

/// The number of operations that a finding names, unless all are asked for.
const MOST_OPERATIONS: usize = 3;
/// The maximum number of characters of a witness that are shown, unless everything is asked for.
const MOST_CHARACTERS: usize = 1500;

pub(super) fn render(comparison: &Comparison, is_whole: bool) -> String {
    let mut out = String::new();
    for (finding, judged) in comparison.findings() {
        one(&mut out, comparison, finding, is_whole);
        judgement(&mut out, judged);
        out.push('\n');
    }
    for (finding, judged) in comparison.rust_findings() {
        rust(&mut out, comparison, finding, is_whole);
        judgement(&mut out, judged);
        out.push('\n');
    }
    summary(&mut out, comparison);
    out
}

fn one(out: &mut String, comparison: &Comparison, finding: &Finding, is_whole: bool) {
    out.push_str(&format!(
        "{}[{}]: {}\n",
        finding.kind.words(),
        finding.rule,
        harmless(&finding.message)
    ));
    quote(out, &comparison.revision, "after", finding.revision);
    quote(out, &comparison.base, "before", finding.base);
    operations(out, &finding.operations, is_whole);
    if let Some(witness) = &finding.witness {
        let what = match witness {
            Witness::Request(_) => "request",
            Witness::Message(_) => "message",
            Witness::Value(_) => "value",
        };
        let text = harmless(witness.text());
        let is_cut = !is_whole && text.chars().count() > MOST_CHARACTERS;
        let shown: String = if is_cut {
            text.chars().take(MOST_CHARACTERS).collect()
        } else {
            text
        };
        let more = if is_cut { "… (whole with --all)" } else { "" };
        out.push_str(&format!("  = {what}: {shown}{more}\n"));
    }
}

/// Writes why a finding is accepted, and the fingerprint by which it can be.
fn judgement(out: &mut String, judged: &Judged) {
    if let Some(why) = &judged.accepted {
        out.push_str(&format!("  = accepted: {}\n", harmless(why)));
    }
    out.push_str(&format!("  = fingerprint: {}\n", judged.fingerprint));
}

/// Writes a change that breaks the source of Rust programs.
fn rust(out: &mut String, comparison: &Comparison, finding: &RustFinding, is_whole: bool) {
    out.push_str(&format!(
        "breaks Rust of {}[{}]: {}\n",
        finding.who.words(),
        finding.rule,
        harmless(&finding.message)
    ));
    quote(out, &comparison.revision, "after", finding.revision);
    quote(out, &comparison.base, "before", finding.base);
    operations(out, &finding.operations, is_whole);
}

/// Writes the operations that a finding reaches.
fn operations(out: &mut String, operations: &[String], is_whole: bool) {
    let count = operations.len();
    if count == 0 {
        return;
    }
    let shown = if is_whole {
        count
    } else {
        MOST_OPERATIONS.min(count)
    };
    let more = if shown < count {
        format!(" and {} more, see --all", count - shown)
    } else {
        String::new()
    };
    out.push_str(&format!(
        "  = reaches {count} operation{}: {}{more}\n",
        if count == 1 { "" } else { "s" },
        harmless(&operations[..shown].join(", "))
    ));
}

fn quote(out: &mut String, document: &Document, when: &str, span: Option<Span>) {
    if let Some(span) = span {
        let text = document.rename(&excerpt(&document.sources, span));
        // Before the position stands when the document looked like that.
        out.push_str(&text.replacen("--> ", &format!("--> {when}: "), 1));
    }
}

fn summary(out: &mut String, comparison: &Comparison) {
    let report = &comparison.report;
    let counts: Vec<String> = Kind::ALL
        .into_iter()
        .filter_map(|kind| {
            let count = report
                .findings
                .iter()
                .filter(|finding| finding.kind == kind)
                .count();
            (count > 0).then(|| format!("{count} {}", kind.words()))
        })
        .collect();
    if counts.is_empty() {
        let s = if report.operations == 1 { "" } else { "s" };
        out.push_str(&format!(
            "nothing has changed on the wire, in {} operation{s}\n",
            report.operations
        ));
    } else {
        out.push_str(&format!("{}\n", counts.join(", ")));
    }
    rust_summary(out, &comparison.rust.report.findings);
    versions(out, comparison);
    if comparison.gate.refuses() {
        out.push_str(
            "refused; allow a kind of finding with --allow KIND, or approve one in contract.toml\n",
        );
    }
}

/// Writes how many changes break the Rust source of whom.
fn rust_summary(out: &mut String, findings: &[RustFinding]) {
    let callers = findings.iter().filter(|finding| finding.who.callers);
    let implementers = findings.iter().filter(|finding| finding.who.implementers);
    out.push_str(&match (callers.count(), implementers.count()) {
        (0, 0) => "no Rust source breaks\n".to_owned(),
        (callers, implementers) => {
            format!("Rust source: {callers} break callers, {implementers} break implementers\n")
        }
    });
}

/// Writes the next versions of the contract and of its crates, and which are too low.
fn versions(out: &mut String, comparison: &Comparison) {
    let version = &comparison.report.version;
    // A version that is no semantic one cannot rise, and the crates have one of their own.
    let info = match &version.needed {
        Some(needed) => format!("info.version {needed}; "),
        None => String::new(),
    };
    out.push_str(&format!(
        "next versions: {info}{}\n",
        comparison.rust.versions()
    ));
    if let Some(needed) = &version.needed
        && !version.is_enough
    {
        out.push_str(&format!(
            "info.version: {} asks for at least {needed}, and is {}\n",
            if comparison.gate.refuses() {
                "this change"
            } else {
                "what is new"
            },
            harmless(&version.revision)
        ));
    }
    let low = comparison.rust.low();
    if !low.is_empty() {
        // Versions rise in the working copy, and two files need not be of one.
        let revision = comparison.base.shown.trim_end_matches(':');
        let help = if revision.is_empty() {
            String::new()
        } else {
            format!("; `codegen --base {revision}` raises them")
        };
        out.push_str(&format!("too low: {low}{help}\n"));
    }
}
