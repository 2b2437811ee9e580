//! Applies the changes of texts that diagnostics have ([`Diagnostic::edits`]), and no others: every
//! other byte stays as it is, so comments do too.
//!
//! [`Diagnostic::edits`]: crate::Diagnostic::edits

use crate::diagnostic::{Diagnostic, Edit};
use crate::read;
use crate::source::{FileId, Sources};

/// The errors of texts that have no certain content.
const UNREADABLE: [&str; 4] = ["duplicate-key", "json-syntax", "not-finite", "yaml-syntax"];

/// Returns the edits of diagnostics in a file, sorted. Of two that overlap, the first is kept.
#[must_use]
pub fn edits(diagnostics: &[Diagnostic], file: FileId) -> Vec<&Edit> {
    let all = diagnostics.iter().flat_map(|diagnostic| &diagnostic.edits);
    let mut edits: Vec<&Edit> = all.filter(|edit| edit.span.file == file).collect();
    edits.sort();
    // Two diagnostics can ask for the same change.
    edits.dedup();
    let mut end = 0;
    edits.retain(|edit| {
        let is_apart = edit.span.start >= end;
        if is_apart {
            end = edit.span.end;
        }
        is_apart
    });
    edits
}

/// Returns a text after sorted edits that do not overlap, such as those of [`edits`]. An edit that is
/// not within the text is left out.
#[must_use]
pub fn apply(text: &str, edits: &[&Edit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let (start, end) = (edit.span.start as usize, edit.span.end as usize);
        if let Some(between) = text.get(at..start)
            && text.get(start..end).is_some()
        {
            out.push_str(between);
            out.push_str(&edit.replacement);
            at = end;
        }
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Returns what keeps a changed text from being read, with its line and column, if it has more such
/// errors than the text had before.
#[must_use]
pub fn broken(name: &str, before: &str, after: &str) -> Option<String> {
    let errors = |text: &str| {
        let mut sources = Sources::default();
        let mut found = Vec::new();
        read::read(&mut sources, name, text.as_bytes(), &mut found);
        found.retain(|one| UNREADABLE.contains(&one.code));
        (sources, found)
    };
    let (_, known) = errors(before);
    let (sources, found) = errors(after);
    let count = |all: &[Diagnostic], code: &str| all.iter().filter(|one| one.code == code).count();
    let new = found
        .iter()
        .find(|one| count(&found, one.code) > count(&known, one.code))?;
    let at = sources.line_column(new.span);
    Some(format!("{}:{}: {}", at.line, at.column, new.message))
}

/// Puts new names into the quotes that the old ones have. A name that a diagnostic suggests has no
/// quotes, and the check that suggests it does not know whether the text has.
///
/// Edits of what is more than a plain or quoted scalar are left out: others can name the anchor of a
/// YAML value, and a tag or a block says how to read it.
pub(crate) fn keep_quotes(sources: &Sources, edits: &mut Vec<Edit>) {
    edits.retain(|edit| {
        let old = sources.text(edit.span).trim_end();
        let is_open =
            |quote: char| old.starts_with(quote) && (old.len() < 2 || !old.ends_with(quote));
        !old.starts_with(['&', '!', '*', '|', '>'])
            && !is_open('"')
            && !is_open('\'')
            && old != edit.replacement
    });
    let is_name = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'$'))
    };
    for edit in edits {
        // The reader's span of a quoted scalar can hold the blanks after it.
        let old = sources.text(edit.span);
        let blanks = old.len() - old.trim_end().len();
        edit.span.end -= u32::try_from(blanks).unwrap_or(0);
        let old = old.trim_end();
        let quote = old
            .chars()
            .next()
            .filter(|first| matches!(first, '"' | '\'') && old.len() > 1 && old.ends_with(*first));
        // What loses its quotes is a number or a truth value.
        if let Some(quote) = quote
            && is_name(&edit.replacement)
            && old.trim_matches(quote) != edit.replacement
        {
            edit.replacement = format!("{quote}{}{quote}", edit.replacement);
        }
    }
}
