//! Patterns, compiled once: as an automaton, and as an expression that matches one string; and the
//! languages of several patterns, built once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use regex_automata::dfa::{StartKind, dense};

use super::language::Language;

/// The maximum number of bytes of the automaton of one pattern.
const MOST_AUTOMATON_BYTES: usize = 1 << 20;
/// The maximum number of bytes that building the automaton of one pattern may use.
const MOST_BUILDING_BYTES: usize = 8 << 20;

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

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The automaton, or `None` if the pattern looks around, refers back or is too large.
    pub(crate) automaton: Option<dense::DFA<Vec<u32>>>,
    engine: Engine,
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
        let compiled = Rc::new(Pattern::compile(pattern));
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
        match &self.get(pattern).engine {
            Engine::Plain(regex) => Some(regex.is_match(text)),
            // It gives up with an error after a number of steps back, since it may need exponential
            // time.
            Engine::Fancy(regex) => regex.is_match(text).ok(),
            Engine::Unusable => None,
        }
    }
}

impl Pattern {
    fn compile(pattern: &str) -> Self {
        let Ok(translated) = jsonschema_regex::to_rust_regex(pattern) else {
            return Self {
                automaton: None,
                engine: Engine::Unusable,
            };
        };
        // This engine takes linear time. The other one also looks around and refers back.
        let engine = match regex::Regex::new(&translated) {
            Ok(regex) => Engine::Plain(regex),
            Err(_) => match fancy_regex::Regex::new(&translated) {
                Ok(regex) => Engine::Fancy(regex),
                Err(_) => Engine::Unusable,
            },
        };
        let config = dense::Config::new()
            // In JSON Schema, a pattern may match anywhere in a string.
            .start_kind(StartKind::Unanchored)
            .dfa_size_limit(Some(MOST_AUTOMATON_BYTES))
            .determinize_size_limit(Some(MOST_BUILDING_BYTES));
        let automaton = match engine {
            Engine::Plain(_) => dense::Builder::new()
                .configure(config)
                .build(&translated)
                .ok(),
            Engine::Fancy(_) | Engine::Unusable => None,
        };
        Self { automaton, engine }
    }
}
