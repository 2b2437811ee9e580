//! The forms that reports for programs share: annotations of GitHub Actions, and SARIF.

use contract::source::LineColumn;
use serde_json::{Value, json};

/// The forms that every report has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Form {
    /// Text with excerpts
    #[default]
    Terminal,
    /// One JSON object
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// SARIF 2.1.0
    Sarif,
}

/// Returns a line that GitHub Actions reads as an annotation. `level` is `error`, `warning` or
/// `notice`.
pub(crate) fn annotation(
    level: &str,
    place: Option<(&str, LineColumn)>,
    title: &str,
    message: &str,
) -> String {
    let at = place.map_or(String::new(), |(file, at)| {
        format!(
            "file={},line={},col={},",
            property(file),
            at.line,
            at.column
        )
    });
    let title = property(title);
    format!("::{level} {at}title={title}::{}\n", escape(message))
}

fn escape(text: &str) -> String {
    // The percent sign first, or those of the other escapes would be escaped too.
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}

/// Returns a location of SARIF.
pub(crate) fn location(file: &str, at: LineColumn) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": file },
        "region": { "startLine": at.line, "startColumn": at.column },
    }})
}

/// Returns a log of SARIF 2.1.0 with the run of one command.
pub(crate) fn sarif(command: &str, rules: &[Value], results: &[Value]) -> String {
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": command, "rules": rules } },
            "results": results,
        }],
    });
    format!("{log:#}\n")
}
