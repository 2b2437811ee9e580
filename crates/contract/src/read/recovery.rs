//! Reads on after an error in a YAML document: leaves out the lines that are broken, and reads the
//! rest again.
//!
//! Each line that is left out becomes blank, so that the spans of all others stay as they are.

use std::ops::Range;

use saphyr_parser::Parser;

use crate::node::{Node, NodeValue};

/// The number of errors after which a document is not read again.
pub(super) const MOST_ERRORS: usize = 10;

/// The number of bytes after which no further guess at the broken lines is tried. Each guess reads
/// the document once, so a large one is read only once more.
const MOST_SCANNED: usize = 8 << 20;

/// The number of guesses at the broken lines after one error.
const MOST_GUESSES: usize = 8;

/// The number of lines without an error that show that the right lines were left out.
const ENOUGH: usize = 3;

/// A document of which lines are left out.
pub(super) struct Recovery {
    /// The document, with blanks for what is left out.
    pub(super) text: String,
    /// What is left out, in bytes.
    left_out: Vec<Range<usize>>,
    scanned: usize,
}

impl Recovery {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            left_out: Vec::new(),
            scanned: 0,
        }
    }

    /// Leaves out the lines that have probably caused an error at a byte. Returns their range, without
    /// the blanks around them, or `None` if there are none.
    pub(super) fn leave_out(&mut self, at: usize) -> Option<Range<usize>> {
        let lines = lines(&self.text);
        let wrong = line_of(&self.text, &lines, at)?;
        // The place of an error is where the reader could not go on, which can be long after its
        // cause: single lines come first, then the blocks that contain them.
        let guesses = guesses(&self.text, &lines, wrong);
        let mut best: Option<(usize, Range<usize>)> = None;
        for guess in guesses {
            if self.scanned > MOST_SCANNED {
                break;
            }
            let rest = blanked(&self.text, &guess);
            self.scanned += rest.len();
            let next = first_error(&rest).map_or(lines.len(), |at| {
                lines.partition_point(|line| line.start <= at)
            });
            // Lines that are left out anyway prove nothing.
            let reached = next.saturating_sub(wrong + 1);
            // Of two that reach as far, the first stays: it leaves out less.
            if best.as_ref().is_none_or(|(most, _)| reached > *most) {
                best = Some((reached, guess));
            }
            if next == lines.len() || reached > ENOUGH {
                break;
            }
        }
        let (_, range) = best?;
        let shown = &self.text[range.clone()];
        let start = range.start + (shown.len() - shown.trim_start().len());
        let end = start + shown.trim().len();
        self.text = blanked(&self.text, &range);
        self.left_out.push(range);
        Some(start..end)
    }

    /// Removes the entries of which the value was left out: their key says that there is one.
    pub(super) fn prune(&self, node: &mut Node) {
        match &mut node.value {
            NodeValue::Array(items) => items.iter_mut().for_each(|item| self.prune(item)),
            NodeValue::Object(entries) => {
                entries.retain(|entry| {
                    !matches!(entry.value.value, NodeValue::Null)
                        || !self.is_cut(entry.key_span.end as usize)
                });
                for entry in entries {
                    self.prune(&mut entry.value);
                }
            }
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => {}
        }
    }

    /// Returns whether what was left out follows the key that ends at a byte.
    fn is_cut(&self, end: usize) -> bool {
        self.left_out.iter().any(|range| {
            let between = self.text.get(end..range.start);
            between.is_some_and(|between| between.trim() == ":")
        })
    }
}

/// Returns the range of each line, with its end.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let range = start..start + line.len();
            start = range.end;
            range
        })
        .collect()
}

/// Returns the line that contains a byte, or the last before it that is not blank.
fn line_of(text: &str, lines: &[Range<usize>], at: usize) -> Option<usize> {
    let here = lines.partition_point(|line| line.start <= at);
    (0..here).rev().find(|line| !is_blank(text, &lines[*line]))
}

fn is_blank(text: &str, line: &Range<usize>) -> bool {
    let line = text[line.clone()].trim_start();
    line.is_empty() || line.starts_with('#')
}

fn indent(text: &str, line: &Range<usize>) -> usize {
    let line = &text[line.clone()];
    line.len() - line.trim_start().len()
}

/// Returns what may be broken if the reader stopped in a line: the line, the one before it, these
/// with what is below them, and the blocks around them.
fn guesses(text: &str, lines: &[Range<usize>], wrong: usize) -> Vec<Range<usize>> {
    let block = |line: usize| {
        let least = indent(text, &lines[line]);
        let below = lines[line + 1..]
            .iter()
            .take_while(|next| is_blank(text, next) || indent(text, next) > least);
        lines[line].start..lines[line + below.count()].end
    };
    let mut before = (0..wrong)
        .rev()
        .filter(|line| !is_blank(text, &lines[*line]));
    let previous = before.next();
    let mut guesses = vec![lines[wrong].clone()];
    guesses.extend(previous.map(|line| lines[line].clone()));
    guesses.push(block(wrong));
    guesses.extend(previous.map(block));
    let mut least = indent(text, &lines[wrong]);
    for line in (0..wrong).rev() {
        if !is_blank(text, &lines[line]) && indent(text, &lines[line]) < least {
            least = indent(text, &lines[line]);
            guesses.push(block(line));
        }
        if least == 0 || guesses.len() >= MOST_GUESSES {
            break;
        }
    }
    guesses
}

/// Returns a text with blanks in place of a range.
fn blanked(text: &str, range: &Range<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..range.start]);
    for byte in text[range.clone()].bytes() {
        out.push(if byte == b'\n' { '\n' } else { ' ' });
    }
    out.push_str(&text[range.end..]);
    out
}

/// Returns the byte at which YAML's grammar does not go on.
fn first_error(text: &str) -> Option<usize> {
    let error = Parser::new_from_str(text).find_map(Result::err)?;
    Some(byte_of(text, error.marker().index()))
}

/// Returns the byte of a position, which counts characters.
pub(super) fn byte_of(text: &str, at: usize) -> usize {
    let mut characters = text.char_indices();
    characters.nth(at).map_or(text.len(), |(byte, _)| byte)
}
