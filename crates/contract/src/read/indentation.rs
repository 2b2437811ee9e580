//! Reads YAML whose brackets or quotes go on in a line that is indented too little.
//!
//! YAML wants each line inside of brackets and quotes further in than the key that they belong to.
//! Most readers do not insist on that for JSON that somebody has pasted, and what it means is plain:
//! blanks at the start of such a line mean nothing. So they are added, and the spans of what is read
//! are those without them.

use std::ops::Range;

use saphyr_parser::Parser;

use super::recovery::{byte_of, lines};

/// The number of lines that are indented, after which the document is read as it is.
const MOST_LINES: usize = 10_000;

/// The number of bytes that are read again to find the lines, since each one takes a reading of what
/// is before it.
const MOST_READ: usize = 32 << 20;

/// What a line in brackets begins with if it is JSON, unless that is a number.
const OF_JSON: [&str; 10] = ["{", "}", "[", "]", ",", "\"", "'", "true", "false", "null"];

/// A document with lines that are indented further than its author has.
pub(super) struct Indented {
    pub(super) text: String,
    pub(super) blanks: Blanks,
    /// The lines that were indented, in bytes of the author's text: the first of each run.
    pub(super) places: Vec<Range<usize>>,
}

/// The blanks that were added to a text.
#[derive(Default)]
pub(super) struct Blanks {
    /// The end of the blanks of each line in the text that has them, in bytes, with the number of
    /// all blanks up to there.
    ends: Vec<(usize, usize)>,
}

impl Blanks {
    /// Returns the byte in the author's text of a byte in the text with blanks.
    pub(super) fn without(&self, byte: usize) -> usize {
        let before = self.ends.partition_point(|(end, _)| *end <= byte);
        byte - before.checked_sub(1).map_or(0, |last| self.ends[last].1)
    }
}

/// Indents the lines because of which a document is no YAML. Returns `None` if it is no YAML even
/// then.
pub(super) fn indent(text: &str) -> Option<Indented> {
    let author = lines(text);
    // The blanks that each line gets.
    let mut added = vec![0; author.len()];
    let mut count = 0;
    let mut read = 0;
    let mut indented = text.to_owned();
    while let Some(error) = Parser::new_from_str(&indented).find_map(Result::err) {
        let at = byte_of(&indented, error.marker().index());
        // What is after it is only copied.
        read += at + indented.len() / 16;
        let rows = lines(&indented);
        let line = rows.iter().position(|row| row.contains(&at))?;
        let column = error.marker().col();
        let is_new = match error.info() {
            "invalid indentation in quoted scalar" => {
                let quoted = &indented[at..];
                let last = line + quoted[..closing(quoted)?].matches('\n').count();
                (line + 1..=last).fold(false, |is_new, next| {
                    let row = &indented[rows[next].clone()];
                    let missing = (column + 1).saturating_sub(row.len() - row.trim_start().len());
                    added[next] += missing;
                    is_new || missing > 0
                })
            }
            "invalid indentation" | "invalid indentation in flow construct" => {
                let row = &indented[rows[line].clone()];
                if !is_json(row.trim_start()) {
                    return None;
                }
                let before = rows[..line].iter().map(|row| &indented[row.clone()]);
                let before = before.rev().find(|row| !row.trim().is_empty())?;
                let enough = before.len() - before.trim_start().len() + 1;
                let missing = enough.saturating_sub(column);
                added[line] += missing;
                missing > 0
            }
            _ => return None,
        };
        count += 1;
        if !is_new || count > MOST_LINES || read > MOST_READ {
            return None;
        }
        indented = with_blanks(text, &author, &added);
    }
    let mut ends = Vec::new();
    let mut all = 0;
    for (row, blanks) in author.iter().zip(&added) {
        if *blanks > 0 {
            all += blanks;
            ends.push((row.start + all, all));
        }
    }
    let places = author.iter().enumerate().filter_map(|(line, row)| {
        let is_first = added[line] > 0 && (line == 0 || added[line - 1] == 0);
        let shown = &text[row.clone()];
        let start = row.start + (shown.len() - shown.trim_start().len());
        is_first.then(|| start..start + shown.trim().len())
    });
    Some(Indented {
        places: places.collect(),
        blanks: Blanks { ends },
        text: indented,
    })
}

/// Returns whether a line can be one of JSON. One that begins with a word may well be the next key
/// after brackets that are not closed.
fn is_json(line: &str) -> bool {
    let number = line.strip_prefix('-').unwrap_or(line);
    OF_JSON.iter().any(|start| line.starts_with(start))
        || number.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the byte after the closing quote of a text that begins with a quote.
fn closing(quoted: &str) -> Option<usize> {
    let mut characters = quoted.char_indices();
    let (_, quote) = characters.next()?;
    while let Some((at, character)) = characters.next() {
        if character == '\\' && quote == '"' {
            characters.next();
        } else if character == quote {
            // In single quotes, two of them are one of the text.
            if quote == '\'' && quoted[at + 1..].starts_with('\'') {
                characters.next();
            } else {
                return Some(at + 1);
            }
        }
    }
    None
}

fn with_blanks(text: &str, lines: &[Range<usize>], added: &[usize]) -> String {
    let mut out = String::with_capacity(text.len() + added.iter().sum::<usize>());
    for (line, blanks) in lines.iter().zip(added) {
        out.extend(std::iter::repeat_n(' ', *blanks));
        out.push_str(&text[line.clone()]);
    }
    out
}
