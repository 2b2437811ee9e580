//! The texts that are open in the editor, which are read in place of the files on the disk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::OpenFiles;
use gen_lsp_types::{Range as Positions, TextDocumentContentChangeEvent, Uri};

use crate::position::{Encoding, Lines};

/// A document that is open in the editor.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    /// The URI as the client writes it.
    pub(crate) uri: Uri,
    /// The version that the client counts.
    pub(crate) version: i32,
    pub(crate) text: Arc<str>,
}

/// Everything that is open, at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    /// A number that grows with every edit, and with every change of a file on the disk.
    pub(crate) revision: u64,
    /// The documents by canonical path.
    pub(crate) buffers: BTreeMap<PathBuf, Buffer>,
}

impl Texts {
    /// Returns the texts as the reader of contracts takes them.
    pub(crate) fn open_files(&self) -> OpenFiles {
        let mut open = OpenFiles::default();
        for (path, buffer) in &self.buffers {
            open.insert(path, Arc::clone(&buffer.text));
        }
        open
    }

    /// Returns the URI of a file: that of the client if it has the file open.
    pub(crate) fn uri(&self, path: &Path) -> Uri {
        match self.buffers.get(path) {
            Some(buffer) => buffer.uri.clone(),
            None => crate::uri::of_path(path),
        }
    }
}

impl Buffer {
    /// Applies the edits of one notification, in their order.
    pub(crate) fn edit(
        &mut self,
        encoding: Encoding,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) {
        let mut text = self.text.to_string();
        let mut batch = Batch::default();
        for change in changes {
            match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                    batch = Batch::default();
                    text = whole.text;
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    let mut range = batch.offsets(&text, encoding, part.range);
                    if !batch.is_before(&range) {
                        text = batch.apply(&text);
                        batch = Batch::default();
                        range = batch.offsets(&text, encoding, part.range);
                    }
                    batch.changes.push((range, part.text));
                }
            }
        }
        self.text = batch.apply(&text).into();
    }
}

/// Changes of a text from its end to its start, which is how editors send those of several cursors.
/// None moves what the later ones change, so the text is searched for lines and copied only once.
#[derive(Default)]
struct Batch {
    lines: Option<Lines>,
    changes: Vec<(Range<usize>, String)>,
}

impl Batch {
    fn offsets(&mut self, text: &str, encoding: Encoding, range: Positions) -> Range<usize> {
        let lines = self.lines.get_or_insert_with(|| Lines::of(text));
        let start = lines.offset(text, encoding, range.start);
        let end = lines.offset(text, encoding, range.end);
        start.min(end)..end.max(start)
    }

    /// Returns whether a range ends before every change.
    fn is_before(&self, range: &Range<usize>) -> bool {
        let first = self.changes.last();
        // A range that ends where a change starts can mean the end of a line that the change made
        // longer.
        first.is_none_or(|(first, _)| range.end < first.start)
    }

    fn apply(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, new) in self.changes.iter().rev() {
            out.push_str(&text[at..range.start]);
            out.push_str(new);
            at = range.end;
        }
        out.push_str(&text[at..]);
        out
    }
}
