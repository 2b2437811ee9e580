//! The files that a contract was read from, and positions in them.

use std::sync::OnceLock;

/// A file of a contract. Its text is kept, so that diagnostics can quote it.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The path as the user wrote it, for messages.
    pub name: String,
    /// The text of the file.
    pub text: String,
}

/// The index of a file in [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u16);

/// A range of bytes in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Creates a span from `start` to before `end`.
    pub(crate) fn new(file: FileId, start: usize, end: usize) -> Self {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            file,
            start: offset(start),
            end: offset(end),
        }
    }
}

/// A position in a file, as editors count: lines and columns from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// Every file of a contract.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// Where the lines and characters of each file are, computed when a diagnostic first needs it.
    indices: Vec<OnceLock<Index>>,
}

/// The bytes of a block, at whose start the characters before it are known. A minified document is one
/// line of megabytes, and thousands of diagnostics ask for their column in it.
const BLOCK: usize = 4 << 10;

/// Where the lines and characters of a file are.
#[derive(Debug, Clone)]
struct Index {
    /// The offset of the start of each line.
    line_starts: Vec<usize>,
    /// The number of characters before each block.
    characters: Vec<usize>,
}

impl Index {
    fn of(text: &str) -> Self {
        let after_feeds = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1);
        let blocks = text.as_bytes().chunks(BLOCK).scan(0, |before, block| {
            *before += characters(block);
            Some(*before)
        });
        Self {
            line_starts: std::iter::once(0).chain(after_feeds).collect(),
            characters: std::iter::once(0).chain(blocks).collect(),
        }
    }

    /// Returns the number of characters of the file before an offset.
    fn characters_before(&self, text: &str, offset: usize) -> usize {
        let block = offset / BLOCK;
        self.characters[block] + characters(&text.as_bytes()[block * BLOCK..offset])
    }
}

/// Returns how many characters of UTF-8 begin in some bytes.
fn characters(bytes: &[u8]) -> usize {
    let begins = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
    bytes.iter().filter(begins).count()
}

impl Sources {
    /// Adds a file and returns its index.
    ///
    /// # Panics
    ///
    /// Panics if there are 65,536 files already. Loading rejects contracts with far fewer.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        let id = u16::try_from(self.files.len()).expect("the reader bounds the number of files");
        self.files.push(file);
        self.indices.push(OnceLock::new());
        FileId(id)
    }

    /// Returns the index of every file, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = FileId> {
        (0..self.next().0).map(FileId)
    }

    /// Returns the index that the next file gets.
    pub(crate) fn next(&self) -> FileId {
        FileId(u16::try_from(self.files.len()).unwrap_or(u16::MAX))
    }

    /// Returns the file with an index.
    #[must_use]
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[usize::from(id.0)]
    }

    /// Returns every file with its index, in the order in which they were read.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        (0..).map(FileId).zip(&self.files)
    }

    /// Returns the text of a span, or an empty string if the span is not in the file.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .text
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    /// Returns the line and column at which a span starts.
    #[must_use]
    pub fn line_column(&self, span: Span) -> LineColumn {
        let text = &self.file(span.file).text;
        let before = self.before(span);
        let index = self.index(span.file);
        let end = self.start(span);
        let [first, last] = [end - before.len(), end].map(|at| index.characters_before(text, at));
        LineColumn {
            line: index.line_starts.partition_point(|line| *line <= end),
            column: last - first + 1,
        }
    }

    /// Returns the text before a span, in the line at which it starts.
    pub(crate) fn before(&self, span: Span) -> &str {
        let start = self.start(span);
        let starts = &self.index(span.file).line_starts;
        let line = starts.partition_point(|line| *line <= start);
        &self.file(span.file).text[starts[line - 1]..start]
    }

    /// Returns the offset of the start of a span, or the nearest one before it that is in the file and not
    /// in a character.
    fn start(&self, span: Span) -> usize {
        let text = &self.file(span.file).text;
        let mut start = (span.start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        start
    }

    /// Returns the line at which a span starts and its two neighbours, with their numbers.
    #[must_use]
    pub fn lines_around(&self, span: Span) -> Vec<(usize, &str)> {
        let text = &self.file(span.file).text;
        let starts = &self.index(span.file).line_starts;
        let line = self.line_column(span).line;
        (line.saturating_sub(1).max(1)..=(line + 1).min(starts.len()))
            .map(|number| {
                let end = starts.get(number).map_or(text.len(), |next| *next);
                (
                    number,
                    text[starts[number - 1]..end].trim_end_matches(['\n', '\r']),
                )
            })
            // After a final line feed there is an empty rest, which is not a line.
            .filter(|(number, text)| *number <= line || *number < starts.len() || !text.is_empty())
            .collect()
    }

    fn index(&self, file: FileId) -> &Index {
        self.indices[usize::from(file.0)].get_or_init(|| Index::of(&self.file(file).text))
    }
}
