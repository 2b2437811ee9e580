//! The report of `diff` as text, with excerpts of both documents.

use compatibility::{Finding, Kind, Witness};
use contract::diagnostic::{excerpt, harmless};

use super::{Comparison, Document};
use contract::source::Span;

/// The number of operations that a finding names, unless all are asked for.
const MOST_OPERATIONS: usize = 3;
/// The most characters of a witness that are shown, unless everything is asked for.
const MOST_CHARACTERS: usize = 1500;

pub(super) fn render(comparison: &Comparison, is_whole: bool) -> String {
    let mut out = String::new();
    for finding in &comparison.report.findings {
        one(&mut out, comparison, finding, is_whole);
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
    let count = finding.operations.len();
    if count > 0 {
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
            harmless(&finding.operations[..shown].join(", "))
        ));
    }
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
        out.push_str(&format!(
            "nothing has changed on the wire, in {} operations\n",
            report.operations
        ));
    } else {
        out.push_str(&format!("{}\n", counts.join(", ")));
    }
    let version = &report.version;
    if let Some(needed) = &version.needed
        && !version.is_enough
    {
        out.push_str(&format!(
            "info.version: {} asks for at least {needed}, and is {}\n",
            if comparison.is_refused() {
                "this change"
            } else {
                "what is new"
            },
            harmless(&version.revision)
        ));
    }
    if comparison.is_refused() {
        out.push_str("refused; allow a kind of finding with --allow KIND\n");
    }
    out.push_str(
        "not judged yet: Rust source of callers and implementers, links, mappings of discriminators\n",
    );
}
