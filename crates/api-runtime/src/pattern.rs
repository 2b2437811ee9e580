//! Patterns of the ECMA 262 dialect, as JSON Schema has them: unanchored, over Unicode.

use std::sync::OnceLock;

/// How many steps a pattern with look-around may take before it counts as not matching.
const BACKTRACK_LIMIT: usize = 100_000;

/// A pattern, compiled when it is first used.
#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
enum Compiled {
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
        return Compiled::Linear(regex);
    }
    let backtracking = fancy_regex::RegexBuilder::new(&translated).backtrack_limit(BACKTRACK_LIMIT).build();
    backtracking.map_or(Compiled::Never, Compiled::Backtracking)
}
