//! Reads bytes into nodes: chooses between JSON and YAML, and limits the size.

mod indentation;
mod json;
mod recovery;
mod scalar;
mod yaml;

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::node::{Node, NodeValue};
use crate::source::{SourceFile, Sources, Span};

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Parses a JSON or YAML document, and adds its text to `sources`. Errors and warnings are added to
/// `diagnostics`.
///
/// Returns `None` if there is nothing to go on with. After an error in YAML, lines that are broken
/// are left out, so that the rest is still checked.
pub fn read(
    sources: &mut Sources,
    name: &str,
    bytes: &[u8],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Node> {
    if bytes.len() > MAX_BYTES {
        let file = sources.add(SourceFile {
            name: name.to_owned(),
            text: String::new(),
        });
        diagnostics.push(
            Diagnostic::error(
                "too-large",
                Span::new(file, 0, 0),
                format!("the file has {} bytes, more than 64 MiB", bytes.len()),
            )
            .help("split the document over several files"),
        );
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(),
        Err(error) => {
            let good = error.valid_up_to();
            // For the diagnostic to quote. Up to the first invalid byte, replacing changes no
            // offset.
            let text = String::from_utf8_lossy(bytes).into_owned();
            let file = sources.add(SourceFile {
                name: name.to_owned(),
                text,
            });
            diagnostics.push(
                Diagnostic::error(
                    "not-utf8",
                    Span::new(file, good, good + 1),
                    format!("byte {good} is not UTF-8"),
                )
                .help("save the file in UTF-8"),
            );
            return None;
        }
    };
    let file = sources.add(SourceFile {
        name: name.to_owned(),
        text,
    });
    let text = sources.file(file).text.clone();
    if is_plain_text(name) {
        return Some(Node {
            span: Span::new(file, 0, text.len()),
            value: NodeValue::String(text),
        });
    }
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    let named_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
    // JSON first, for its better messages. YAML in flow style starts with the same characters, so a
    // file named `.yaml` is read again as YAML if it is not JSON.
    if looks_like_json {
        let mut found = Vec::new();
        let node = json::read(file, &text, &mut found);
        if node.is_some() || !named_yaml {
            diagnostics.extend(found);
            return node;
        }
    }
    yaml::read(file, &text, diagnostics)
}

/// Returns whether a file is a text as a whole, such as a description in Markdown, and no document.
fn is_plain_text(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| {
        ["markdown", "md", "txt"]
            .iter()
            .any(|plain| ending.eq_ignore_ascii_case(plain))
    })
}

/// Returns whether a diagnostic says that some readers take a text for a date.
pub(crate) fn is_about_date(diagnostic: &Diagnostic) -> bool {
    diagnostic.code == "ambiguous-scalar" && diagnostic.message.ends_with(scalar::DATE)
}

/// Returns the lines of a document that were left out because of the error that a diagnostic reports.
pub(crate) fn left_out(diagnostic: &Diagnostic) -> impl Iterator<Item = Span> {
    let related = diagnostic.related.iter();
    related
        .filter(|(_, label)| label == yaml::LEFT_OUT)
        .map(|(span, _)| *span)
}
