//! The descriptions of rules in Markdown.

use super::{Example, HOLE, Pair, Rule};
use crate::diagnostic::Severity;
use crate::lint::LintSet;

/// Returns the page that describes rules, by set.
pub(super) fn page(rules: &[&Rule]) -> String {
    let mut out = String::from(
        "# The rules of lint\n\n\
         Generated from the table of rules in `crates/contract/src/rules`; do not edit it.\n\
         `cargo xtask lint --rules > docs/rules.md` renews it, and a test compares it with the table.\n\
         Each example is a test of its rule: the first fragment is reported, the second is not.\n\
         [lint.md](lint.md) says how to choose rules.\n",
    );
    for set in LintSet::ALL {
        out.push_str(&format!("\n## Set `{}`\n\n{}\n", set.name(), about(set)));
        for rule in rules.iter().filter(|rule| rule.set == set) {
            out.push_str(&format!("\n{}", section(rule)));
        }
    }
    out
}

fn about(set: LintSet) -> &'static str {
    match set {
        LintSet::Correct => {
            "What the standard forbids, and what probably does not say what its author means.\n\
             This set always runs."
        }
        LintSet::Interoperable => "What is right, but which tools read differently.",
        LintSet::Style => "What is right, but serves callers or servers badly.",
    }
}

/// Returns the description of a rule.
pub(super) fn section(rule: &Rule) -> String {
    let severity = match rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut out = format!(
        "### {}\n\n{} ({severity}).\n{}\n\n",
        rule.code,
        rule.summary.trim_end_matches('.'),
        rule.why
    );
    match &rule.example {
        Example::Document(pair) | Example::Overlay(pair) => example(&mut out, pair),
        Example::None(why) => out.push_str(&format!("There is no short example: {why}.\n")),
    }
    out
}

fn example(out: &mut String, pair: &Pair) {
    let language = if pair.frame.file.ends_with(".json") {
        "json"
    } else {
        "yaml"
    };
    for (word, fragment) in [("Wrong", pair.bad()), ("Right", pair.good.to_owned())] {
        let fragment = if fragment.is_empty() {
            "# nothing".to_owned()
        } else {
            outdent(pair, &fragment)
        };
        let lead = if word == "Wrong" { "" } else { "\n" };
        out.push_str(&format!(
            "{lead}{word}, as {}:\n\n```{language}\n{}\n```\n",
            pair.frame.place,
            fragment.trim_end()
        ));
    }
}

/// Returns a fragment without the indentation of its frame, which its first line does not have.
fn outdent(pair: &Pair, fragment: &str) -> String {
    let before = pair.frame.text.split(HOLE).next().unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let own = line.len() - line.trim_start().len();
    let indent = fragment
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .map_or(0, |least| least.min(own));
    let lines = fragment.lines().enumerate().map(|(index, line)| {
        if index == 0 {
            line
        } else {
            line.get(indent..).unwrap_or_default()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
