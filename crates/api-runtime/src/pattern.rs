//! Patterns as JSON Schema has them: regular expressions of ECMA 262, unanchored, over Unicode.

mod fixed;

use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::primitives::StateID;

use fixed::Fixed;

/// The maximum number of times that matching a pattern with look-around or back-references may
/// backtrack. A string that needs more does not match.
const BACKTRACK_LIMIT: usize = 100_000;

/// The largest table that a pattern is compiled to, in bytes. Larger ones would not stay in a
/// processor's cache.
const LARGEST_TABLE: usize = 16 << 10;
/// The maximum memory that compiling a table may take, in bytes.
const TABLE_WORK: usize = 256 << 10;

/// A pattern of the contract, compiled when it is first used.
///
/// It is compiled to the fastest of several forms, because ids and names are checked on every
/// request.
#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
enum Compiled {
    /// A set of bytes per position, for patterns that match only strings of one length.
    Fixed(Fixed),
    /// A small deterministic automaton: one look-up per byte.
    Table(Box<Table>),
    /// A regular expression without look-around, which matches in linear time.
    Linear(regex::Regex),
    /// A regular expression with look-around or back-references, which matches in a limited number
    /// of steps.
    Backtracking(fancy_regex::Regex),
    /// An invalid pattern, which matches nothing. The generator rejects contracts that have one.
    Never,
}

impl Pattern {
    /// Creates a pattern from its source, without compiling it.
    #[must_use]
    pub const fn new(source: &'static str) -> Self {
        Self {
            source,
            compiled: OnceLock::new(),
        }
    }

    /// Returns the pattern as the contract has it.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Returns whether the pattern matches somewhere in the string.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match self.compiled.get_or_init(|| compile(self.source)) {
            Compiled::Fixed(fixed) => fixed.matches(text),
            Compiled::Table(table) => table.matches(text),
            Compiled::Linear(regex) => regex.is_match(text),
            // An error means that the limit of steps is reached.
            Compiled::Backtracking(regex) => regex.is_match(text).unwrap_or(false),
            Compiled::Never => false,
        }
    }
}

/// Returns a pattern of ECMA 262 in the syntax of the `regex` crate, or of `fancy-regex` if it looks
/// around or refers back. Returns `None` if it is not valid.
#[must_use]
pub fn translate(pattern: &str) -> Option<String> {
    let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
    Some(translated.into_owned())
}

/// Compiles a pattern to the first form that can hold it, the cheapest first.
fn compile(source: &str) -> Compiled {
    let Some(translated) = translate(source) else {
        return Compiled::Never;
    };
    if let Some(fixed) = Fixed::of(&translated) {
        return Compiled::Fixed(fixed);
    }
    // Before `fancy-regex`, which would take every pattern but guarantees no linear time.
    if let Ok(regex) = regex::Regex::new(&translated) {
        return table(&translated).map_or(Compiled::Linear(regex), |table| {
            Compiled::Table(Box::new(table))
        });
    }
    let backtracking = fancy_regex::RegexBuilder::new(&translated)
        .backtrack_limit(BACKTRACK_LIMIT)
        .build();
    backtracking.map_or(Compiled::Never, Compiled::Backtracking)
}

/// An automaton and its start state.
///
/// The start state is looked up once and not for each string: `regex-automata` selects it by the
/// bytes around a search, and here a search is always over the whole string.
#[derive(Debug)]
struct Table {
    states: dense::DFA<Vec<u32>>,
    start: StateID,
}

impl Table {
    fn matches(&self, text: &str) -> bool {
        let mut state = self.start;
        for byte in text.bytes() {
            state = self.states.next_state(state, byte);
            if self.states.is_special_state(state) {
                if self.states.is_match_state(state) {
                    return true;
                }
                // No match is possible any more. Automata that can quit are not used, see `table`.
                if self.states.is_dead_state(state) {
                    return false;
                }
            }
        }
        // A match is reported one byte late, so the end of the text is a step too.
        self.states
            .is_match_state(self.states.next_eoi_state(state))
    }
}

/// Compiles a pattern to a table of states. Returns `None` if the table would be too large, or
/// could not decide on every byte.
fn table(pattern: &str) -> Option<Table> {
    let limits = dense::Config::new()
        .dfa_size_limit(Some(LARGEST_TABLE))
        .determinize_size_limit(Some(TABLE_WORK))
        .start_kind(regex_automata::dfa::StartKind::Unanchored);
    let states = dense::Builder::new()
        .configure(limits)
        .build(pattern)
        .ok()?;
    // The automaton would quit at a byte that it cannot decide on, such as one beyond ASCII beside
    // `\b`.
    let start = states.start_state_forward(&Input::new("")).ok()?;
    (!states.is_quit_state(start)).then_some(Table { states, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares each form with the `regex` crate on the same strings.
    #[test]
    fn every_form_finds_what_a_regular_expression_finds() {
        let texts = [
            "",
            "a",
            "ab",
            "vm",
            "vm0",
            "vm01",
            "vm0a",
            "vm0A",
            "vm0é",
            "évm0",
            "vm01x",
            "xvm01",
            "vm01\n",
            "2026-03-02",
            "2026-3-2",
            "a-b",
            "-a",
            "a-",
            "b\u{0}",
            "\u{7f}a",
            "aaa",
            "x.y.z",
        ];
        for (pattern, form) in [
            ("^vm[0-9a-h]{2}$", "Fixed"),
            ("^(?:vm)([0-9])[0-9a-h]$", "Fixed"),
            ("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "Fixed"),
            ("^$", "Fixed"),
            ("^a{1,3}$", "Table"),
            ("^[^a]b?$", "Table"),
            ("vm[0-9]", "Table"),
            ("^vm[0-9]", "Table"),
            ("[0-9]$", "Table"),
            ("^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$", "Table"),
            ("^(a|b)$", "Fixed"),
            ("^(a|bc)$", "Table"),
            ("^é$", "Table"),
            ("a^", "Table"),
        ] {
            let expected = regex::Regex::new(pattern).expect("the text is a regular expression");
            let compiled = Pattern::new(pattern);
            for text in texts {
                assert_eq!(
                    compiled.matches(text),
                    expected.is_match(text),
                    "{pattern} {text:?}"
                );
            }
            let made = format!(
                "{:?}",
                compiled
                    .compiled
                    .get()
                    .expect("a pattern is compiled once it was used")
            );
            assert!(made.starts_with(form), "{pattern}: {made}");
        }
    }
}
