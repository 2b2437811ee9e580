//! The patterns of `match` and `search`: I-Regexp (RFC 9485), matched in linear time.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

use super::bounds::MOST_PATTERNS;

/// The longest pattern that is compiled, in bytes.
pub(super) const MAX_PATTERN_BYTES: usize = 1_024;

/// The maximum memory that a compiled pattern may take, in bytes. Nested repetitions such as
/// `(a{100}){100}` grow exponentially.
const MAX_COMPILED_BYTES: usize = 1024 * 1024;

/// Which part of a string a pattern has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    /// The whole string, as `match` does.
    Whole,
    /// Any part of it, as `search` does.
    Part,
}

/// The patterns that the JSONPaths of an overlay contain, each compiled once.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// `None` for a pattern that matches nothing.
    compiled: HashMap<(String, Extent), Option<Regex>>,
}

/// The error that an overlay has more than [`MOST_PATTERNS`] patterns.
#[derive(Debug)]
pub(super) struct TooMany;

impl Patterns {
    /// Compiles a pattern unless it is known. Returns whether it can match something.
    ///
    /// # Errors
    ///
    /// Returns an error if the pattern is one too many.
    pub(super) fn add(&mut self, pattern: &str, extent: Extent) -> Result<bool, TooMany> {
        let key = (pattern.to_owned(), extent);
        if let Some(known) = self.compiled.get(&key) {
            return Ok(known.is_some());
        }
        if self.compiled.len() >= MOST_PATTERNS {
            return Err(TooMany);
        }
        let regex = compile(pattern, extent);
        let is_pattern = regex.is_some();
        self.compiled.insert(key, regex);
        Ok(is_pattern)
    }

    /// Returns whether a pattern matches a string, or `None` if the pattern was not added.
    pub(super) fn matches(&self, pattern: &(String, Extent), text: &str) -> Option<bool> {
        let regex = self.compiled.get(pattern)?.as_ref();
        Some(regex.is_some_and(|regex| regex.is_match(text)))
    }
}

/// Compiles a pattern. Returns `None` if it is not a pattern, or too large; by the RFC such a
/// pattern matches nothing.
pub(super) fn compile(pattern: &str, extent: Extent) -> Option<Regex> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return None;
    }
    let pattern = translated(pattern);
    let pattern = match extent {
        Extent::Whole => format!(r"\A(?:{pattern})\z"),
        Extent::Part => pattern,
    };
    RegexBuilder::new(&pattern)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .nest_limit(50)
        .build()
        .ok()
}

/// Returns a pattern in the syntax of the regex crate, in which a dot matches a carriage return.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    let mut is_class = false;
    for character in pattern.chars() {
        if is_escaped {
            is_escaped = false;
        } else {
            match character {
                '\\' => is_escaped = true,
                // No depth: I-Regexp has no class within a class.
                '[' => is_class = true,
                ']' => is_class = false,
                '.' if !is_class => {
                    out.push_str(r"[^\n\r]");
                    continue;
                }
                _ => {}
            }
        }
        out.push(character);
    }
    out
}
