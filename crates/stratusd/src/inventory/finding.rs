//! What is wrong with an inventory, and where.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::Utf8Error;

use serde_saphyr::{Error, Location, Spanned};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Finding {
    /// What is wrong with a value.
    pub fn at<T>(value: &Spanned<T>, message: impl Into<String>) -> Self {
        Self::of(value.referenced, message)
    }

    fn of(location: Location, message: impl Into<String>) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
            message: message.into(),
        }
    }
}

/// Everything that is wrong with an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    path: PathBuf,
    findings: Vec<Finding>,
}

impl Findings {
    /// Findings in a file, put in its order.
    #[must_use]
    pub fn new(path: &Path, mut findings: Vec<Finding>) -> Self {
        findings.sort();
        Self {
            path: path.to_owned(),
            findings,
        }
    }

    /// Where a file is not text.
    pub(super) fn of_bytes(path: &Path, bytes: &[u8], error: Utf8Error) -> Self {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let last = before.rsplit('\n').next().unwrap_or_default();
        let place = |before: usize| u64::try_from(before).unwrap_or(u64::MAX).saturating_add(1);
        let (line, column) = (
            place(before.matches('\n').count()),
            place(last.chars().count()),
        );
        let finding = Finding {
            line,
            column,
            message: "must be UTF-8".to_owned(),
        };
        Self::new(path, vec![finding])
    }

    /// A file that holds nothing.
    pub(super) fn of_nothing(path: &Path) -> Self {
        let message = "is empty: an inventory says at least `projects: []`".to_owned();
        Self::new(
            path,
            vec![Finding {
                line: 1,
                column: 1,
                message,
            }],
        )
    }

    /// Why a file is no inventory at all.
    pub(super) fn of_yaml(path: &Path, error: &serde_saphyr::Error) -> Self {
        let text = match error {
            Error::MultipleDocuments { .. } => {
                "must be one document, and another begins here".to_owned()
            }
            Error::NullIntoString { .. } => "must be a text, not null".to_owned(),
            Error::Unexpected {
                expected: "mapping start",
                ..
            } => "must be a mapping of keys to values".to_owned(),
            Error::Unexpected {
                expected: "sequence start",
                ..
            } => "must be a list".to_owned(),
            Error::InvalidScalar { ty: "i32", .. } => {
                "must be a whole number of 32 bits".to_owned()
            }
            _ => error.to_string(),
        };
        let finding = match error.location() {
            Some(location) => {
                let place = format!(" at line {}, column {}", location.line(), location.column());
                // The reader's own options are nobody's business here.
                let text = text
                    .replace(&place, "")
                    .replace(", set DuplicateKeyPolicy in Options if acceptable", "");
                Finding::of(location, text)
            }
            None => Finding {
                line: 1,
                column: 1,
                message: text,
            },
        };
        Self::new(path, vec![finding])
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.findings.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            let Finding {
                line,
                column,
                message,
            } = finding;
            write!(f, "{end}{}:{line}:{column}: {message}", self.path.display())?;
        }
        Ok(())
    }
}

impl std::error::Error for Findings {}
