//! Diagnostics: the errors in an inventory, each with its line and column.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::Utf8Error;

use serde_saphyr::{Error, Location, Spanned};

/// An error in an inventory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The message, which names the error and what would be valid.
    pub message: String,
}

impl Diagnostic {
    /// The position of a diagnostic about the whole file, or of an error without a position.
    const START: (u64, u64) = (1, 1);

    /// Creates a diagnostic at the position of a value. For a YAML alias this is the position of
    /// the alias, not of its anchor.
    pub fn at<T>(value: &Spanned<T>, message: impl Into<String>) -> Self {
        let location = value.referenced;
        Self::new((location.line(), location.column()), message)
    }

    fn new((line, column): (u64, u64), message: impl Into<String>) -> Self {
        Self {
            line,
            column,
            message: message.into(),
        }
    }
}

/// The errors in an inventory, printed one per line, each with the path of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics {
    path: PathBuf,
    all: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Creates the list of diagnostics of the file at `path`, and sorts it by line and column.
    #[must_use]
    pub fn new(path: &Path, mut all: Vec<Diagnostic>) -> Self {
        all.sort();
        Self {
            path: path.to_owned(),
            all,
        }
    }

    /// Returns the diagnostic for a file that is not UTF-8, at its first invalid byte.
    pub(super) fn of_invalid_utf8(path: &Path, bytes: &[u8], error: Utf8Error) -> Self {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let last_line = before.rsplit('\n').next().unwrap_or_default();
        let from_one = |count: usize| u64::try_from(count).unwrap_or(u64::MAX).saturating_add(1);
        let position = (
            from_one(before.matches('\n').count()),
            from_one(last_line.chars().count()),
        );
        Self::new(path, vec![Diagnostic::new(position, "must be UTF-8")])
    }

    /// Returns the diagnostic for a file without content.
    pub(super) fn of_empty_file(path: &Path) -> Self {
        let message = "the file is empty: for an inventory without projects, write `projects: []`";
        Self::new(path, vec![Diagnostic::new(Diagnostic::START, message)])
    }

    /// Returns the diagnostic for a file that could not be parsed, at the position of the error, or
    /// at the start of the file if the error has none.
    pub(super) fn of_yaml(path: &Path, error: &Error) -> Self {
        let message = yaml_message(error);
        let diagnostic = match error.location() {
            Some(location) => Diagnostic::new(
                (location.line(), location.column()),
                without_location(&message, location),
            ),
            None => Diagnostic::new(Diagnostic::START, message),
        };
        Self::new(path, vec![diagnostic])
    }
}

/// Returns the message for an error of the YAML parser. For common mistakes it is not the parser's
/// own message, because that names Rust types.
fn yaml_message(error: &Error) -> String {
    match error {
        Error::MultipleDocuments { .. } => {
            "must be one YAML document; a second one starts here".to_owned()
        }
        Error::NullIntoString { .. } => "must be a string, not null".to_owned(),
        Error::Unexpected {
            expected: "mapping start",
            ..
        } => "must be a mapping".to_owned(),
        Error::Unexpected {
            expected: "sequence start",
            ..
        } => "must be a list".to_owned(),
        Error::Unexpected {
            expected: "string scalar",
            ..
        } => "must be a string".to_owned(),
        Error::InvalidScalar { ty: "i32", .. } => "must be a 32-bit integer".to_owned(),
        _ => error.to_string(),
    }
}

/// Removes the position, which the diagnostic prints itself, and the advice for Rust programmers
/// from a message of the YAML parser.
fn without_location(message: &str, location: Location) -> String {
    let position = format!(" at line {}, column {}", location.line(), location.column());
    message
        .replace(&position, "")
        .replace(", set DuplicateKeyPolicy in Options if acceptable", "")
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.all.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            let Diagnostic {
                line,
                column,
                message,
            } = diagnostic;
            write!(
                f,
                "{separator}{}:{line}:{column}: {message}",
                self.path.display()
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
