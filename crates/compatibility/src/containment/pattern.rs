//! Patterns, compiled once: as an automaton, and as an expression that matches one string; and the
//! languages of several patterns, built once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson;

use super::language::Language;

/// The maximum number of bytes of the automaton of one pattern.
const MOST_AUTOMATON_BYTES: usize = 1 << 20;
/// The maximum number of bytes that building the automaton of one pattern may use.
const MOST_BUILDING_BYTES: usize = 8 << 20;
/// The maximum number of bytes of the program of one pattern, from which its automaton is built: that
/// of `regex`.
const MOST_PROGRAM_BYTES: usize = 10 << 20;

/// The maximum number of languages that are kept. The names of one contract use a few dozen.
const MOST_LANGUAGES: usize = 256;

/// The patterns of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: RefCell<HashMap<String, Rc<Pattern>>>,
    languages: RefCell<HashMap<LanguageKey, Option<Rc<Language>>>>,
}

/// The patterns that match, and those that do not.
type LanguageKey = (Vec<String>, Vec<String>);

/// A pattern, each form of which is compiled when it is first needed: many patterns are only asked
/// whether they match one string, or only for the strings that they match.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The pattern in Rust's syntax, or `None` if it has none.
    translated: Option<String>,
    engine: OnceCell<Engine>,
    automaton: OnceCell<Option<dense::DFA<Vec<u32>>>>,
}

#[derive(Debug)]
enum Engine {
    Plain(regex::Regex),
    Fancy(fancy_regex::Regex),
    Unusable,
}

impl Patterns {
    pub(crate) fn get(&self, pattern: &str) -> Rc<Pattern> {
        if let Some(known) = self.compiled.borrow().get(pattern) {
            return Rc::clone(known);
        }
        let compiled = Rc::new(Pattern::new(pattern));
        self.compiled
            .borrow_mut()
            .insert(pattern.to_owned(), Rc::clone(&compiled));
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
        if languages.len() >= MOST_LANGUAGES {
            // All at once: so few contracts need as many that counting the uses would not pay.
            languages.clear();
        }
        languages.insert(key, language.clone());
        language
    }

    /// Returns whether a string matches a pattern, or `None` if no engine can tell.
    pub(crate) fn matches(&self, pattern: &str, text: &str) -> Option<bool> {
        match self.get(pattern).engine() {
            Engine::Plain(regex) => Some(regex.is_match(text)),
            // It gives up with an error after a number of steps back, since it may need exponential
            // time.
            Engine::Fancy(regex) => regex.is_match(text).ok(),
            Engine::Unusable => None,
        }
    }
}

impl Pattern {
    fn new(pattern: &str) -> Self {
        Self {
            translated: jsonschema_regex::to_rust_regex(pattern)
                .ok()
                .map(|translated| translated.to_string()),
            engine: OnceCell::new(),
            automaton: OnceCell::new(),
        }
    }

    fn engine(&self) -> &Engine {
        self.engine.get_or_init(|| {
            let Some(translated) = &self.translated else {
                return Engine::Unusable;
            };
            // This engine takes linear time. The other one also looks around and refers back.
            match regex::Regex::new(translated) {
                Ok(regex) => Engine::Plain(regex),
                Err(_) => match fancy_regex::Regex::new(translated) {
                    Ok(regex) => Engine::Fancy(regex),
                    Err(_) => Engine::Unusable,
                },
            }
        })
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
}
