//! Diagnostics: what is wrong with a document, where, and how to correct it.

use std::collections::HashMap;

use crate::source::{Sources, Span};

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The document is wrong, and nothing is generated.
    Error,
    /// The document can be used, but probably does not say what its author means.
    Warning,
}

/// An error in a document, or a warning about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule, a stable name in kebab-case such as `dangling-ref`.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The span that is wrong.
    pub span: Span,
    /// The message: what is wrong, in one sentence without a full stop.
    pub message: String,
    /// The way to correct the document.
    pub help: Option<String>,
    /// Other spans that belong to the diagnostic, each with a label.
    pub related: Vec<(Span, String)>,
    /// The changes of the text that mend what is wrong, where there is one certain way. They do not
    /// overlap.
    pub edits: Vec<Edit>,
    /// The name that the diagnostic is about, where a repair needs it.
    pub(crate) subject: Option<String>,
    /// The parts of the node that the diagnostic is about, such as methods, each of which is a repair
    /// of its own; an empty name is the node as a whole. Without any, the whole is one repair.
    pub(crate) parts: Vec<String>,
}

/// A change of a file: what a span is replaced by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// The bytes that are replaced.
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

impl Diagnostic {
    /// Creates a diagnostic that prevents generation.
    #[must_use]
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            span,
            message: message.into(),
            help: None,
            related: Vec::new(),
            edits: Vec::new(),
            subject: None,
            parts: Vec::new(),
        }
    }

    /// Creates a diagnostic that does not prevent generation.
    #[must_use]
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// Sets the help: how to correct the document.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the name that the diagnostic is about.
    pub(crate) fn about(mut self, subject: &str) -> Self {
        self.subject = Some(subject.to_owned());
        self
    }

    /// Adds a part of the node that the diagnostic is about.
    pub(crate) fn part(mut self, part: &str) -> Self {
        self.parts.push(part.to_owned());
        self
    }

    /// Adds a change of the text that mends what is wrong.
    #[must_use]
    pub fn edit(mut self, span: Span, replacement: impl Into<String>) -> Self {
        let replacement = replacement.into();
        self.edits.push(Edit { span, replacement });
        self
    }

    /// Adds another span that belongs to the diagnostic.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}

/// The maximum number of characters of a line that an excerpt shows. Minified documents have lines
/// of megabytes.
const WIDTH: usize = 100;

/// Returns diagnostics as the terminal shows them, sorted by position.
///
/// Each has its severity, rule and `file:line:column`, an excerpt of three lines with the span
/// underlined, and the help; the last line has the number of errors and warnings. Of diagnostics
/// with the same words, the first few are shown and the others are listed by position.
#[must_use]
pub fn render(sources: &Sources, diagnostics: &[Diagnostic]) -> String {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
    let mut out = String::new();
    // A mistake that a template or generator made appears hundreds of times. Without grouping, it
    // would hide the others.
    let mut alike: HashMap<_, Vec<&Diagnostic>> = HashMap::new();
    for diagnostic in &sorted {
        alike.entry(words(diagnostic)).or_default().push(diagnostic);
    }
    let mut shown: HashMap<_, usize> = HashMap::new();
    for diagnostic in &sorted {
        let count = shown.entry(words(diagnostic)).or_default();
        *count += 1;
        if *count > SHOWN {
            continue;
        }
        render_one(&mut out, sources, diagnostic);
        if *count == SHOWN {
            others(&mut out, sources, &alike[&words(diagnostic)][SHOWN..]);
        }
        out.push('\n');
    }
    let count = |severity| {
        sorted
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .count()
    };
    let counts = [
        (count(Severity::Error), "error"),
        (count(Severity::Warning), "warning"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    if !counts.is_empty() {
        out.push_str(&counts.join(", "));
        out.push('\n');
    }
    out
}

/// The number of diagnostics with the same words that are shown with an excerpt.
const SHOWN: usize = 3;

/// Returns what a diagnostic says, without what it is about. Diagnostics for which this is equal are
/// shown as one group.
fn words(diagnostic: &Diagnostic) -> (Severity, &str, String) {
    let message = nameless(&diagnostic.message);
    (diagnostic.severity, diagnostic.code, message)
}

/// Returns a message without the names in it, which are between backticks.
fn nameless(message: &str) -> String {
    message.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The maximum number of characters of a name that are shown beside a position.
const LONGEST_NAME: usize = 40;

/// Appends the positions of diagnostics that are not shown with an excerpt, grouped by file.
fn others(out: &mut String, sources: &Sources, diagnostics: &[&Diagnostic]) {
    let mut file = None;
    for diagnostic in diagnostics {
        let start = sources.line_column(diagnostic.span);
        let mut position = format!("{}:{}", start.line, start.column);
        // What sets it apart from those that are shown.
        if let Some(name) = diagnostic.message.split('`').nth(1) {
            let name: String = harmless(name).chars().take(LONGEST_NAME).collect();
            position.push_str(&format!(" {name}"));
        }
        let is_full = out.len() - out.rfind('\n').unwrap_or(0) + position.len() > WIDTH;
        if file == Some(diagnostic.span.file) && !is_full {
            out.push_str(&format!(", {position}"));
            continue;
        }
        let start = if file.is_none() {
            format!("  = and {} more: ", diagnostics.len())
        } else {
            "\n    ".to_owned()
        };
        let name = if file == Some(diagnostic.span.file) {
            String::new()
        } else {
            format!("{}:", harmless(&sources.file(diagnostic.span.file).name))
        };
        out.push_str(&format!("{start}{name}{position}"));
        file = Some(diagnostic.span.file);
    }
    if !diagnostics.is_empty() {
        out.push('\n');
    }
}

fn render_one(out: &mut String, sources: &Sources, diagnostic: &Diagnostic) {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    out.push_str(&format!(
        "{severity}[{}]: {}\n",
        diagnostic.code,
        harmless(&diagnostic.message)
    ));
    out.push_str(&excerpt(sources, diagnostic.span));
    for (span, label) in &diagnostic.related {
        let at = sources.line_column(*span);
        let file = harmless(&sources.file(span.file).name);
        out.push_str(&format!(
            "  ::: {file}:{}:{} {}\n",
            at.line,
            at.column,
            harmless(label)
        ));
    }
    if let Some(help) = &diagnostic.help {
        out.push_str(&format!("  = help: {}\n", harmless(help)));
    }
}

/// Returns the position of a span and an excerpt of three lines with the span underlined, as
/// [`render`] shows them.
#[must_use]
pub fn excerpt(sources: &Sources, span: Span) -> String {
    let mut out = String::new();
    let at = sources.line_column(span);
    let lines = sources.lines_around(span);
    let gutter = (at.line + 1).to_string().len();
    let file = harmless(&sources.file(span.file).name);
    out.push_str(&format!(
        "{:gutter$}--> {file}:{}:{}\n",
        "", at.line, at.column
    ));
    out.push_str(&format!("{:gutter$} |\n", ""));
    // A long line is shown from near the span on. Its neighbours are cut at the same column, so
    // that columns stay aligned.
    let skip = at.column.saturating_sub(WIDTH / 2 + 1);
    let skip = if at.column <= WIDTH - 10 { 0 } else { skip };
    let before = sources.before(span);
    for (number, text) in lines {
        let rest = if number == at.line {
            // From the span backwards, and not from the start of a line of megabytes.
            let cut = before
                .char_indices()
                .rev()
                .take(at.column - 1 - skip)
                .last();
            text.get(cut.map_or(before.len(), |(at, _)| at)..)
        } else {
            text.char_indices().nth(skip).map(|(at, _)| &text[at..])
        };
        let shown: String = rest.unwrap_or_default().chars().take(WIDTH).collect();
        let shown = harmless(&shown);
        out.push_str(format!("{number:gutter$} | {shown}").trim_end());
        out.push('\n');
        if number == at.line {
            let count = |text: &str| text.chars().take(WIDTH).count();
            let left = text.get(before.len()..).map_or(0, count);
            let marked = sources.text(span).lines().next().map_or(0, count);
            let carets = marked
                .min(left)
                .min(WIDTH - (at.column - 1 - skip).min(WIDTH - 1))
                .max(1);
            out.push_str(&format!(
                "{:gutter$} | {:indent$}{}\n",
                "",
                "",
                "^".repeat(carets),
                indent = at.column - 1 - skip
            ));
        }
    }
    out.push_str(&format!("{:gutter$} |\n", ""));
    out
}

/// Replaces characters that a terminal does not show, and those that control it or change the
/// direction of text, by U+FFFD, and tabs by spaces, so that a document cannot control the terminal and
/// hides nothing in it.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\t' => ' ',
            character if is_hidden(character) => '\u{fffd}',
            character => character,
        })
        .collect()
}

/// Returns whether a terminal shows nothing for a character, or something else than it is.
///
/// These are the categories Cc, Cf, Zl and Zp of Unicode and what it calls default ignorable, but
/// for the joiners and the variation selectors, which are part of words and emoji.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}
