//! The report of `diff` as a changelog: by tag, in the words of the contract.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;
use compatibility::{Finding, Kind};
use contract::diagnostic::harmless;
use contract::model::Operation;

use super::Comparison;

/// The parts of a section, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Added,
    Changed,
    Deprecated,
    Removed,
    Security,
}

impl Part {
    fn of(finding: &Finding) -> Self {
        let rule = finding.rule;
        let is = |words: &[&str]| words.iter().any(|word| rule.contains(word));
        if is(&["security", "oauth"]) {
            Self::Security
        } else if is(&["deprecated", "sunset"]) {
            Self::Deprecated
        } else if is(&["removed"]) {
            Self::Removed
        } else if is(&["added", "request-widened"]) {
            Self::Added
        } else {
            Self::Changed
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Added => "Added",
            Self::Changed => "Changed",
            Self::Deprecated => "Deprecated",
            Self::Removed => "Removed",
            Self::Security => "Security",
        }
    }
}

/// The name of the section of what reaches several tags or the whole contract.
const GENERAL: &str = "In general";
/// The start of a changelog, above its sections.
const HEAD: &str = "# Changelog\n";

/// Returns the section of a changelog that lists the findings of a comparison.
pub(super) fn section(comparison: &Comparison) -> String {
    let version = &comparison.report.version;
    let mut out = format!(
        "## {}\n\nSince {}.\n",
        prose(&version.revision),
        prose(&version.base)
    );
    if let Some(needed) = &version.needed
        && !version.is_enough
    {
        out.push_str(&format!("The version should be at least {needed}.\n"));
    }
    if comparison.report.findings.is_empty() {
        out.push_str("\nNothing has changed on the wire.\n");
    }
    let operations = Operations::of(comparison);
    let mut tags: BTreeMap<usize, BTreeMap<Part, Vec<&Finding>>> = BTreeMap::new();
    for finding in &comparison.report.findings {
        let parts = tags.entry(operations.tag(finding)).or_default();
        parts.entry(Part::of(finding)).or_default().push(finding);
    }
    for (tag, parts) in tags {
        out.push_str(&format!("\n### {}\n", prose(&operations.tags[tag])));
        for (part, findings) in parts {
            out.push_str(&format!("\n**{}**\n\n", part.words()));
            for finding in findings {
                entry(&mut out, finding, &operations);
            }
        }
    }
    out
}

fn entry(out: &mut String, finding: &Finding, operations: &Operations) {
    let warning = match finding.kind {
        Kind::Compatible => "",
        Kind::Undecided => "Perhaps breaking: ",
        Kind::Breaking => "Breaking: ",
        Kind::InformationRemoved
        | Kind::SuccessStatusChanged
        | Kind::PropertyBecameReadOnly
        | Kind::SunsetPulledForward
        | Kind::StabilityLowered
        | Kind::MeaningChanged => "Take care: ",
    };
    let names: Vec<String> = finding
        .operations
        .iter()
        .map(|name| operations.words(name))
        .collect();
    // The message about a whole operation only names it, as the part does.
    let is_whole = matches!(
        finding.rule,
        "operation-added" | "operation-removed" | "operation-deprecated"
    ) && !finding.message.contains(", and ends on ");
    match names.as_slice() {
        [name] if is_whole => out.push_str(&format!("- {warning}{name}\n")),
        names => {
            out.push_str(&format!("- {warning}{}.\n", prose(&finding.message)));
            if !names.is_empty() {
                out.push_str(&format!("  Concerns {}.\n", names.join(", ")));
            }
        }
    }
    if let Some(witness) = &finding.witness
        && finding.kind.is_gating()
    {
        out.push_str(&format!("\n      {}\n", harmless(witness.text())));
    }
}

/// The operations of both contracts by the names that findings have for them.
struct Operations {
    /// The sections: the general one, then the tags in the order of the contract.
    tags: Vec<String>,
    by_name: BTreeMap<String, (usize, String)>,
}

impl Operations {
    fn of(comparison: &Comparison) -> Self {
        let mut operations = Self {
            tags: vec![GENERAL.to_owned()],
            by_name: BTreeMap::new(),
        };
        // The revision first, whose words count for an operation that both have.
        for contract in [&comparison.revision.contract, &comparison.base.contract] {
            for operation in contract.operations.iter().chain(&contract.webhooks) {
                operations.add(operation);
            }
        }
        operations
    }

    fn add(&mut self, operation: &Operation) {
        let tag = operation.tag().unwrap_or("Without a tag");
        let known = self.tags.iter().position(|known| known == tag);
        let at = known.unwrap_or_else(|| {
            self.tags.push(tag.to_owned());
            self.tags.len() - 1
        });
        let place = format!("{} {}", operation.method.as_str(), operation.path);
        let name = format!("{} ({place})", operation.id);
        let summary = operation.summary.as_deref().unwrap_or_default().trim();
        let words = if summary.is_empty() {
            code(&name)
        } else {
            format!("“{}” ({})", prose(summary), code(&place))
        };
        self.by_name.entry(name).or_insert((at, words));
    }

    /// Returns an operation in words: its summary, with its method and path.
    fn words(&self, name: &str) -> String {
        match self.known(name) {
            Some((_, words)) => words.clone(),
            None => code(name),
        }
    }

    fn known(&self, name: &str) -> Option<&(usize, String)> {
        self.by_name
            .get(name.strip_prefix("webhook ").unwrap_or(name))
    }

    /// Returns the section of a finding: that of the only tag that it reaches.
    fn tag(&self, finding: &Finding) -> usize {
        let tags = finding.operations.iter();
        let mut tags = tags.map(|name| self.known(name).map_or(0, |(tag, _)| *tag));
        let first = tags.next().unwrap_or_default();
        if tags.all(|tag| tag == first) {
            first
        } else {
            0
        }
    }
}

/// Puts a section at the start of a changelog, in place of that of the same version if the changelog
/// begins with one. The file is made if it is not there.
pub(super) fn prepend(path: &Path, version: &str, section: &str) -> anyhow::Result<()> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => HEAD.to_owned(),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read {}", path.display()));
        }
    };
    let at = start_of_section(&text, 0).unwrap_or(text.len());
    let (head, mut rest) = text.split_at(at);
    if rest.starts_with(&format!("## {}\n", prose(version))) {
        let end = start_of_section(rest, 1).unwrap_or(rest.len());
        rest = &rest[end..];
    }
    let mut text = format!("{}\n\n{}", head.trim_end(), section);
    if !rest.is_empty() {
        text.push('\n');
        text.push_str(rest);
    }
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

/// Returns where the next section begins.
fn start_of_section(text: &str, from: usize) -> Option<usize> {
    if from == 0 && text.starts_with("## ") {
        return Some(0);
    }
    let found = text.get(from..)?.find("\n## ")?;
    Some(from + found + 1)
}

fn code(name: &str) -> String {
    format!("`{}`", harmless(name).replace('`', "'"))
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
