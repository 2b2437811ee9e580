//! Patterns of the ECMA 262 dialect, as JSON Schema has them: unanchored, over Unicode.

use std::sync::OnceLock;

use regex_automata::Input;
use regex_automata::dfa::{Automaton, dense};

/// How many steps a pattern with look-around may take before it counts as not matching.
const BACKTRACK_LIMIT: usize = 100_000;

/// The largest table that a pattern may become, and the most memory that making it may take, in bytes.
const LARGEST_TABLE: usize = 16 << 10;
const TABLE_WORK: usize = 256 << 10;

/// A pattern, compiled when it is first used.
#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
enum Compiled {
    /// A table of states, for patterns that make a small one: a step per byte, and nothing else.
    Table(Box<dense::DFA<Vec<u32>>>),
    /// In linear time.
    Linear(regex::Regex),
    /// With look-around or back-references, and a limit.
    Backtracking(fancy_regex::Regex),
    /// No pattern at all: nothing matches. The generator refuses such a contract.
    Never,
}

impl Pattern {
    /// A pattern from the contract.
    #[must_use]
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// The pattern as the contract writes it.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Whether the pattern is found somewhere in the text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match self.compiled.get_or_init(|| compile(self.source)) {
            Compiled::Table(table) => {
                // Without word boundaries, which make no table, a search has no way to fail.
                table.try_search_fwd(&Input::new(text).earliest(true)).is_ok_and(|found| found.is_some())
            }
            Compiled::Linear(regex) => regex.is_match(text),
            Compiled::Backtracking(regex) => regex.is_match(text).unwrap_or(false),
            Compiled::Never => false,
        }
    }
}

fn compile(source: &str) -> Compiled {
    let Ok(translated) = jsonschema_regex::to_rust_regex(source) else {
        return Compiled::Never;
    };
    if let Ok(regex) = regex::Regex::new(&translated) {
        return table(&translated).map_or(Compiled::Linear(regex), |table| Compiled::Table(Box::new(table)));
    }
    let backtracking = fancy_regex::RegexBuilder::new(&translated).backtrack_limit(BACKTRACK_LIMIT).build();
    backtracking.map_or(Compiled::Never, Compiled::Backtracking)
}

/// The pattern as a table of states, if that is a small one.
fn table(pattern: &str) -> Option<dense::DFA<Vec<u32>>> {
    let limits = dense::Config::new()
        .dfa_size_limit(Some(LARGEST_TABLE))
        .determinize_size_limit(Some(TABLE_WORK))
        .start_kind(regex_automata::dfa::StartKind::Unanchored);
    dense::Builder::new().configure(limits).build(pattern).ok()
}
