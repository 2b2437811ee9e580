//! The faults that cargo-mutants finds, as `cargo mutants --list --json` prints them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A fault: a small change of the source, which a test should notice.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fault {
    /// The path of the source file, from the workspace.
    pub(crate) file: String,
    /// The function that it is in, if it is in one.
    pub(crate) function: Option<Function>,
    /// The place and the change, in words.
    pub(crate) name: String,
    /// What is changed.
    pub(crate) genre: Genre,
    /// The text that is there instead. Empty where something is deleted.
    pub(crate) replacement: String,
    /// The place of what is changed.
    pub(crate) span: Span,
}

impl Fault {
    /// Returns whether the function, in the source of its file, is for other systems. A fault in it would
    /// compile, and no test could notice it.
    pub(crate) fn is_elsewhere(&self, source: &str) -> bool {
        let Some(function) = &self.function else {
            return false;
        };
        let (start, end) = (function.span.start.line, function.span.end.line);
        let lines = source.lines().skip(start - 1).take(end + 1 - start);
        let mut head = lines.take_while(|line| !line.contains("fn "));
        head.any(|line| ELSEWHERE.contains(&line.trim()))
    }

    /// Returns the words of the file's name and the function's, without short ones, which are in too many
    /// other names.
    pub(crate) fn words(&self) -> BTreeSet<&str> {
        let file = self.file.rsplit(['/', '.']).nth(1).unwrap_or_default();
        let function = self.function.as_ref();
        let function = function.and_then(|it| it.function_name.rsplit(':').next());
        let words = [file, function.unwrap_or_default()];
        let words = words.into_iter().flat_map(|name| name.split('_'));
        words.filter(|word| word.len() > 3).collect()
    }
}

/// The attributes of functions that are not compiled here: the tool needs Linux.
const ELSEWHERE: [&str; 3] = [
    "#[cfg(not(unix))]",
    "#[cfg(not(target_os = \"linux\"))]",
    "#[cfg(windows)]",
];

/// A function that has faults.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Function {
    /// Its path within the file, such as `Net4::parse`.
    pub(crate) function_name: String,
    /// Its place, from its comments and attributes on.
    pub(crate) span: Span,
}

/// What a fault changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Genre {
    /// A function returns a fixed value.
    FnValue,
    /// Another operator is between two operands.
    BinaryOperator,
    /// An operator before an operand is missing.
    UnaryOperator,
    /// An arm of a `match` is missing.
    MatchArm,
    /// The guard of an arm is always true or always false.
    MatchArmGuard,
    /// A field of a struct has the value of the base.
    StructField,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Place,
    pub(crate) end: Place,
}

/// A place in a file: the line and the character in it, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl From<proc_macro2::LineColumn> for Place {
    fn from(at: proc_macro2::LineColumn) -> Self {
        Self {
            line: at.line,
            column: at.column + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_for_other_systems_is_recognised() {
        let source = "#[cfg(unix)]\nfn a() {\n    1\n}\n\n/// Not here.\n#[cfg(not(unix))]\nfn a() {\n    2\n}\n";
        let fault = |start: usize, end: usize| {
            let place = |line| Place { line, column: 1 };
            let span = Span {
                start: place(start),
                end: place(end),
            };
            Fault {
                file: "src/a.rs".to_owned(),
                function: Some(Function {
                    function_name: "a".to_owned(),
                    span,
                }),
                name: "src/a.rs:3:5: replace a with ()".to_owned(),
                genre: Genre::FnValue,
                replacement: "()".to_owned(),
                span,
            }
        };
        assert!(!fault(1, 4).is_elsewhere(source));
        assert!(fault(6, 10).is_elsewhere(source));
    }
}
