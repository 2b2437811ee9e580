//! The automata of patterns, and the languages of several patterns, each built once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson;

use super::engines::Engines;
use super::language::{Language, Sets};

/// The maximum number of bytes of the automaton of one pattern.
const MOST_AUTOMATON_BYTES: usize = 1 << 20;
/// The maximum number of bytes that building the automaton of one pattern may use.
const MOST_BUILDING_BYTES: usize = 8 << 20;
/// The maximum number of bytes of the program of one pattern, from which its automaton is built: that
/// of `regex`.
const MOST_PROGRAM_BYTES: usize = 10 << 20;

/// The maximum number of patterns that are kept.
const MOST_PATTERNS: usize = 1024;
/// The number of bytes of automata from which those that are kept are forgotten. Fewer in tests of
/// this crate, because building as many takes minutes.
const MOST_KEPT_BYTES: usize = if cfg!(test) { 1 << 20 } else { 32 << 20 };
/// The maximum number of languages that are kept. The names of one contract use a few dozen.
const MOST_LANGUAGES: usize = 256;
/// The number of transitions of languages from which those that are kept are forgotten.
const MOST_KEPT_TRANSITIONS: usize = if cfg!(test) { 10_000 } else { 100_000 };

/// The patterns of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: RefCell<HashMap<String, Rc<Pattern>>>,
    engines: Engines,
    languages: RefCell<HashMap<LanguageKey, Option<Rc<Language>>>>,
}

/// The patterns that match, and those that do not.
type LanguageKey = (Vec<String>, Vec<String>);

/// A pattern, whose automaton is built when it is first needed: many patterns are only asked whether
/// they match one string, which their engine can tell.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The pattern in Rust's syntax, or `None` if it has none.
    translated: Option<String>,
    automaton: OnceCell<Option<dense::DFA<Vec<u32>>>>,
}

impl Patterns {
    /// Returns the patterns of a comparison whose validators use the same engines.
    pub(crate) fn with(engines: Engines) -> Self {
        Self {
            engines,
            ..Self::default()
        }
    }

    pub(crate) fn get(&self, pattern: &str) -> Rc<Pattern> {
        if let Some(known) = self.compiled.borrow().get(pattern) {
            return Rc::clone(known);
        }
        let compiled = Rc::new(Pattern::new(pattern));
        let mut known = self.compiled.borrow_mut();
        let bytes: usize = known.values().map(|pattern| pattern.bytes()).sum();
        if known.len() >= MOST_PATTERNS || bytes >= MOST_KEPT_BYTES {
            known.clear();
        }
        known.insert(pattern.to_owned(), Rc::clone(&compiled));
        compiled
    }

    /// Returns the language of the strings that match some patterns and do not match others, or
    /// `None` if a pattern has no automaton or the language is too large.
    pub(crate) fn language(&self, wanted: &[String], unwanted: &[String]) -> Option<Rc<Language>> {
        let key = (wanted.to_vec(), unwanted.to_vec());
        if let Some(known) = self.languages.borrow().get(&key) {
            return known.clone();
        }
        let language = Language::new(self, wanted, unwanted).map(Rc::new);
        let mut languages = self.languages.borrow_mut();
        let kept = languages.values().flatten();
        let transitions: usize = kept.map(|language| language.transitions()).sum();
        if languages.len() >= MOST_LANGUAGES || transitions >= MOST_KEPT_TRANSITIONS {
            // All at once: so few contracts need as many that counting the uses would not pay.
            languages.clear();
        }
        languages.insert(key, language.clone());
        language
    }

    /// Returns whether a string matches a pattern, or `None` if no engine can tell.
    pub(crate) fn matches(&self, pattern: &str, text: &str) -> Option<bool> {
        self.engines.get(pattern).matches(text)
    }
}

impl Pattern {
    fn new(pattern: &str) -> Self {
        Self {
            translated: api_runtime::translate_pattern(pattern),
            automaton: OnceCell::new(),
        }
    }

    /// Returns the automaton, or `None` if the pattern looks around, refers back or is too large.
    pub(crate) fn automaton(&self) -> Option<&dense::DFA<Vec<u32>>> {
        let build = || {
            let config = dense::Config::new()
                // In JSON Schema, a pattern may match anywhere in a string.
                .start_kind(StartKind::Unanchored)
                .dfa_size_limit(Some(MOST_AUTOMATON_BYTES))
                .determinize_size_limit(Some(MOST_BUILDING_BYTES));
            let program = thompson::Config::new().nfa_size_limit(Some(MOST_PROGRAM_BYTES));
            let mut builder = dense::Builder::new();
            builder
                .thompson(program)
                .configure(config)
                .build(self.translated.as_ref()?)
                .ok()
        };
        self.automaton.get_or_init(build).as_ref()
    }

    /// Returns the sets of characters that the pattern names, or `None` if it is no regular one.
    pub(crate) fn sets(&self) -> Option<Sets> {
        Sets::of(&regex_syntax::parse(self.translated.as_ref()?).ok()?)
    }

    /// Returns the bytes of the automaton, if it has been built.
    fn bytes(&self) -> usize {
        let built = self.automaton.get().and_then(Option::as_ref);
        built.map_or(0, dense::DFA::memory_usage)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        MOST_AUTOMATON_BYTES, MOST_KEPT_BYTES, MOST_KEPT_TRANSITIONS, MOST_LANGUAGES,
        MOST_PATTERNS, Patterns,
    };

    #[test]
    fn strings_that_one_pattern_can_no_longer_match_are_of_the_other() {
        let patterns = Patterns::default();
        let list = |one: &str| vec![one.to_owned()];
        let words = |wanted: &str, unwanted: &[String]| {
            let language = patterns.language(&list(wanted), unwanted);
            let language = language.expect("both have automata");
            language.words(0, Some(2), 9).list
        };
        assert_eq!(words("^[ab]{2}$", &list("^a+$")), ["ab", "ba", "bb"]);
        assert_eq!(words("^[éa]$", &list("^a")), ["é"]);
        assert_eq!(words("^[0-9]$", &list("^[2-9]")), ["0", "1"]);
        assert_eq!(words("^a$", &list("a")), [""; 0]);
    }

    #[test]
    fn automata_and_languages_are_kept_within_bounds() {
        let patterns = Patterns::default();
        for number in 0..=MOST_PATTERNS {
            patterns.get(&format!("^{number}$"));
        }
        let kept = patterns.compiled.borrow().len();
        assert!((1..=MOST_PATTERNS).contains(&kept), "{kept} patterns");
        for number in 0..=MOST_LANGUAGES {
            let language = patterns.language(&[format!("^{number}$")], &[]);
            assert!(language.is_some(), "{number}");
        }
        let kept = patterns.languages.borrow().len();
        assert!((1..=MOST_LANGUAGES).contains(&kept), "{kept} languages");
    }

    #[test]
    fn large_automata_and_languages_are_kept_within_bounds() {
        let patterns = Patterns::default();
        let (mut made, mut most) = (0, 0);
        while made < MOST_KEPT_BYTES * 2 {
            let pattern = patterns.get(&format!("^{made}\\p{{L}}{{1,2}}$"));
            made += pattern
                .automaton()
                .expect("it is not too large")
                .memory_usage();
            let kept = patterns.compiled.borrow();
            most = most.max(kept.values().map(|pattern| pattern.bytes()).sum());
        }
        assert!(
            most < MOST_KEPT_BYTES + MOST_AUTOMATON_BYTES,
            "{most} bytes"
        );

        let (mut made, mut most) = (0, 0);
        while made < MOST_KEPT_TRANSITIONS * 2 {
            // Each character more of the end doubles the states.
            let pattern = format!("^{made}(a|b)*a(a|b){{9}}$");
            let language = patterns.language(&[pattern], &[]);
            made += language.expect("it is not too large").transitions();
            let kept = patterns.languages.borrow();
            let kept = kept
                .values()
                .flatten()
                .map(|language| language.transitions());
            most = most.max(kept.sum());
        }
        assert!(
            most < MOST_KEPT_TRANSITIONS + made / 10,
            "{most} transitions"
        );
    }
}
