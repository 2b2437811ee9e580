//! The files that a contract was read from, and positions in them.

use std::sync::OnceLock;

/// One file of a contract, kept whole so that findings can quote it.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The path as the user wrote it, for messages.
    pub name: String,
    /// The text, valid UTF-8.
    pub text: String,
}

/// Index of a file in [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u16);

/// A byte range in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` to before `end`.
    pub(crate) fn new(file: FileId, start: usize, end: usize) -> Self {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            file,
            start: offset(start),
            end: offset(end),
        }
    }
}

/// A position for people: both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// Every file of one contract.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// Where each line of each file starts, counted when a finding first asks.
    line_starts: Vec<OnceLock<Vec<usize>>>,
}

impl Sources {
    /// Adds a file and returns its index.
    ///
    /// # Panics
    ///
    /// After 65,535 files, which the reader refuses long before.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        let id = u16::try_from(self.files.len()).expect("the reader bounds the number of files");
        self.files.push(file);
        self.line_starts.push(OnceLock::new());
        FileId(id)
    }

    /// The file behind an index.
    #[must_use]
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[usize::from(id.0)]
    }

    /// The text that a span covers.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .text
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    /// Where a span starts, as people count.
    #[must_use]
    pub fn line_column(&self, span: Span) -> LineColumn {
        let text = &self.file(span.file).text;
        let mut start = (span.start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let starts = self.starts(span.file);
        let line = starts.partition_point(|line| *line <= start).max(1);
        LineColumn {
            line,
            column: text[starts[line - 1]..start].chars().count() + 1,
        }
    }

    /// The line where a span starts, with its neighbours, numbered from 1.
    #[must_use]
    pub fn lines_around(&self, span: Span) -> Vec<(usize, &str)> {
        let text = &self.file(span.file).text;
        let starts = self.starts(span.file);
        let line = self.line_column(span).line;
        (line.saturating_sub(1).max(1)..=(line + 1).min(starts.len()))
            .map(|number| {
                let end = starts.get(number).map_or(text.len(), |next| *next);
                (
                    number,
                    text[starts[number - 1]..end].trim_end_matches(['\n', '\r']),
                )
            })
            // What follows the last line feed is no line.
            .filter(|(number, text)| *number <= line || *number < starts.len() || !text.is_empty())
            .collect()
    }

    fn starts(&self, file: FileId) -> &[usize] {
        self.line_starts[usize::from(file.0)].get_or_init(|| {
            let text = &self.file(file).text;
            std::iter::once(0)
                .chain(
                    text.bytes()
                        .enumerate()
                        .filter(|(_, byte)| *byte == b'\n')
                        .map(|(at, _)| at + 1),
                )
                .collect()
        })
    }
}
