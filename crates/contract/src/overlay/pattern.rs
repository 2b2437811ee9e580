//! The patterns of `match` and `search`: I-Regexp (RFC 9485), matched in linear time.

use regex::{Regex, RegexBuilder};

/// The longest pattern that is compiled, in bytes.
pub(super) const MAX_PATTERN_BYTES: usize = 1_024;

/// The most memory that a compiled pattern may take, in bytes. Nested repetitions such as
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
