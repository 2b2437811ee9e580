//! The diagnostics of all contracts, by file, as the protocol has them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::source::{FileId, Span};
use contract::{Severity, identity};
use gen_lsp_types::{
    Code, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, Message, Range,
    Uri,
};

use crate::position::Lines;
use crate::texts::Texts;
use crate::world::{Analysis, World};

/// The maximum number of diagnostics of a file that are shown. One wrong template makes thousands.
const MOST_PER_FILE: usize = 1_000;

/// The name of the server, as editors show it beside a diagnostic.
pub(crate) const SOURCE: &str = "stratus";

/// Returns the diagnostics of every file that a contract has, by canonical path, sorted. A file
/// without any is there with none.
pub(crate) fn collect(world: &World, texts: &Texts) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
    let mut found: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
    for root in world.roots(texts) {
        if let Some(analysis) = world.analyse(texts, &root) {
            add(world, texts, &analysis, &mut found);
        }
    }
    for diagnostics in found.values_mut() {
        // Two contracts can have one file.
        let mut kept: Vec<Diagnostic> = Vec::new();
        for diagnostic in std::mem::take(diagnostics) {
            if kept.len() < MOST_PER_FILE && !kept.contains(&diagnostic) {
                kept.push(diagnostic);
            }
        }
        kept.sort_by_key(|diagnostic| diagnostic.range);
        *diagnostics = kept;
    }
    found
}

fn add(
    world: &World,
    texts: &Texts,
    analysis: &Analysis,
    found: &mut BTreeMap<PathBuf, Vec<Diagnostic>>,
) {
    let files = Files::of(world, texts, analysis);
    for file in &files.known {
        found.entry(file.path.clone()).or_default();
    }
    for diagnostic in &analysis.diagnostics {
        let path = files.known[usize::from(diagnostic.span.file.0)]
            .path
            .clone();
        let of_file = found.entry(path).or_default();
        // More are cut below; here the cost of converting them is bounded.
        if of_file.len() <= 2 * MOST_PER_FILE {
            of_file.push(files.convert(diagnostic));
        }
    }
}

/// The files of a contract, to convert what the reader says about them.
pub(crate) struct Files<'w> {
    world: &'w World,
    texts: &'w Texts,
    analysis: &'w Analysis,
    known: Vec<File>,
}

/// A file that the reader of contracts has read.
struct File {
    path: PathBuf,
    lines: std::cell::OnceCell<Lines>,
}

impl File {
    fn of(analysis: &Analysis, id: FileId) -> Self {
        Self {
            path: identity(Path::new(&analysis.sources.file(id).name)),
            lines: std::cell::OnceCell::new(),
        }
    }
}

impl<'w> Files<'w> {
    pub(crate) fn of(world: &'w World, texts: &'w Texts, analysis: &'w Analysis) -> Self {
        let ids = analysis.sources.ids();
        Self {
            world,
            texts,
            analysis,
            known: ids.map(|id| File::of(analysis, id)).collect(),
        }
    }

    pub(crate) fn uri(&self, file: FileId) -> Uri {
        self.texts.uri(&self.known[usize::from(file.0)].path)
    }

    /// Returns a diagnostic as the protocol has it.
    pub(crate) fn convert(&self, diagnostic: &contract::Diagnostic) -> Diagnostic {
        let mut message = diagnostic.message.clone();
        if let Some(help) = &diagnostic.help {
            message.push_str("\nhelp: ");
            message.push_str(help);
        }
        let related: Vec<_> = diagnostic
            .related
            .iter()
            .map(|(span, label)| DiagnosticRelatedInformation {
                location: Location {
                    uri: self.uri(span.file),
                    range: self.range(*span),
                },
                message: label.clone(),
            })
            .collect();
        Diagnostic {
            range: self.range(diagnostic.span),
            severity: Some(match diagnostic.severity {
                Severity::Error => DiagnosticSeverity::Error,
                Severity::Warning => DiagnosticSeverity::Warning,
            }),
            code: Some(Code::String(diagnostic.code.to_owned())),
            code_description: None,
            source: Some(SOURCE.to_owned()),
            message: Message::String(message),
            tags: None,
            related_information: (!related.is_empty()).then_some(related),
            data: None,
        }
    }

    /// Returns the position of a span, without the ends of lines after its last word.
    pub(crate) fn range(&self, span: Span) -> Range {
        // A block ends after its last line; an editor should underline no further than that.
        let text = self.analysis.sources.text(span);
        let rest = text.len() - text.trim_end_matches(['\n', '\r', ' ']).len();
        let rest = u32::try_from(rest).unwrap_or_default();
        self.exact_range(Span {
            end: span.end - rest,
            ..span
        })
    }

    pub(crate) fn exact_range(&self, span: Span) -> Range {
        let file = &self.known[usize::from(span.file.0)];
        // The reader leaves out a byte order mark, which the editor may have kept.
        let read = &self.analysis.sources.file(span.file).text;
        let open = self.texts.buffers.get(&file.path);
        let (text, mark) = match open {
            Some(buffer) if buffer.text.starts_with('\u{feff}') => (&*buffer.text, 3),
            _ => (read.as_str(), 0),
        };
        let lines = file.lines.get_or_init(|| Lines::of(text));
        let (start, end) = (span.start as usize + mark, span.end as usize + mark);
        lines.range(text, self.world.encoding, start..end)
    }
}
