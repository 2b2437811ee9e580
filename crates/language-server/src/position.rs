//! Positions: lines and characters as the protocol counts them, and offsets in bytes.
//!
//! A line ends with a line feed, a carriage return, or both. A character is a byte of UTF-8 or a
//! unit of UTF-16, as client and server agree at the start.

use gen_lsp_types::{Position, PositionEncodingKind, Range};

/// The unit in which characters of a line are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16, which every client knows.
    Utf16,
}

impl Encoding {
    /// Chooses from the encodings that a client offers, if it offers any.
    pub(crate) fn choose(offered: Option<&[PositionEncodingKind]>) -> Self {
        let offered = offered.unwrap_or_default();
        if offered.contains(&PositionEncodingKind::UTF8) {
            Self::Utf8
        } else {
            Self::Utf16
        }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn units(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
        }
    }
}

/// Where the lines of a text start.
#[derive(Debug, Clone)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let is_end = |at: usize| match bytes[at] {
            b'\n' => true,
            // Before a line feed, the carriage return is part of the same end of the line.
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let starts = (0..bytes.len()).filter(|at| is_end(*at)).map(|at| at + 1);
        Self(std::iter::once(0).chain(starts).collect())
    }

    /// Returns the index of the line that holds an offset.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset).max(1) - 1
    }

    /// Returns whether there are fewer lines.
    pub(crate) fn is_after_last(&self, line: usize) -> bool {
        line >= self.0.len()
    }

    /// Returns the offsets of a line, without its end. A line after the last is empty.
    pub(crate) fn line(&self, text: &str, line: usize) -> std::ops::Range<usize> {
        let Some(start) = self.0.get(line).copied() else {
            return text.len()..text.len();
        };
        let end = self.0.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\n', '\r']);
        start..start + content.len()
    }

    /// Returns the offset of a position. A position after the end of its line means that end, and
    /// one inside a character its start.
    pub(crate) fn offset(&self, text: &str, encoding: Encoding, position: Position) -> usize {
        let line = self.line(text, position.line as usize);
        let mut left = position.character as usize;
        let mut offset = line.start;
        for character in text[line].chars() {
            let units = encoding.units(character);
            if left < units {
                break;
            }
            left -= units;
            offset += character.len_utf8();
        }
        offset
    }

    /// Returns the position of an offset. An offset inside a character means its start.
    pub(crate) fn position(&self, text: &str, encoding: Encoding, offset: usize) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_of(offset);
        let before = &text[self.0[line]..offset];
        let units: usize = before.chars().map(|one| encoding.units(one)).sum();
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            character: u32::try_from(units).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn range(
        &self,
        text: &str,
        encoding: Encoding,
        offsets: std::ops::Range<usize>,
    ) -> Range {
        Range {
            start: self.position(text, encoding, offsets.start),
            end: self.position(text, encoding, offsets.end),
        }
    }
}
