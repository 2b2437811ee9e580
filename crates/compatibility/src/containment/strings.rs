//! The search for a string.

use std::rc::Rc;

use serde_json::Value;

use super::facts::{Facts, Strings};
use super::format::{envelope, is_narrower, samples};
use super::language::{Language, Words};
use super::outcome::Outcome;
use super::tableau::Tableau;
use super::value::is_equal;

/// The number of strings of the patterns that are tried against formats.
const MOST_TRIES: usize = 64;
/// The longest strings that are made up where a pattern has no automaton.
const MOST_SIMPLE: usize = 10_000;
/// The number of lengths above the smallest of which strings are made up.
const LENGTHS: usize = 24;

impl Tableau<'_, '_> {
    /// Returns whether a string fulfils the facts, or `None` if a pattern cannot be used.
    pub(crate) fn fits(&self, strings: &Strings, text: &str) -> Option<bool> {
        let length = text.chars().count() as u64;
        let formats = &self.context.formats;
        if length < strings.min
            || strings.max.is_some_and(|max| length > max)
            || strings
                .formats
                .iter()
                .any(|format| !formats.matches(format, text))
            || strings
                .not_formats
                .iter()
                .any(|format| formats.matches(format, text))
        {
            return Some(false);
        }
        for (patterns, is_wanted) in [(&strings.patterns, true), (&strings.not_patterns, false)] {
            for pattern in patterns {
                if self.context.patterns.matches(pattern, text)? != is_wanted {
                    return Some(false);
                }
            }
        }
        Some(true)
    }

    /// Searches for a string that fulfils the facts.
    pub(crate) fn string(&self, facts: &Facts) -> Outcome {
        let strings = &facts.strings;
        let contradicts = |format: &String| {
            let mut unwanted = strings.not_formats.iter();
            unwanted.any(|other| is_narrower(format, other))
        };
        if strings.formats.iter().any(contradicts) {
            return Outcome::Nothing;
        }
        let is_free = |text: &str| {
            let value = Value::String(text.to_owned());
            !facts.excluded.iter().any(|other| is_equal(&value, other))
        };
        let first = |candidates: &mut dyn Iterator<Item = String>| {
            let mut candidates = candidates;
            Iterator::find(&mut candidates, |text| {
                is_free(text) && self.fits(strings, text) == Some(true)
            })
        };
        // Samples come first, since few strings that are made from patterns alone match a format.
        let wanted = strings.formats.iter().flat_map(|format| samples(format));
        if let Some(found) = first(&mut wanted.map(|text| (*text).to_owned())) {
            return Outcome::Value(Value::String(found));
        }
        let Some(language) = self.language(strings) else {
            return match self.simple(facts) {
                Some(found) => Outcome::Value(Value::String(found)),
                None => {
                    Outcome::Unknown("a pattern that looks around, refers back or is too large")
                }
            };
        };
        let has_formats = !strings.formats.is_empty() || !strings.not_formats.is_empty();
        // Without formats, every word fits that is not excluded. With them, most words may not.
        let tries = if has_formats { MOST_TRIES } else { 2 };
        let words = language.words(strings.min, strings.max, facts.excluded.len() + tries);
        let is_complete = words.is_complete;
        match first(&mut words.list.into_iter()) {
            Some(found) => Outcome::Value(Value::String(found)),
            None if is_complete => Outcome::Nothing,
            None if has_formats => Outcome::Unknown("a format beside other keywords"),
            None => Outcome::Unknown("strings with many characters or states"),
        }
    }

    /// Returns the language of the strings that fulfil the patterns, and as far as possible the formats.
    fn language(&self, strings: &Strings) -> Option<Rc<Language>> {
        let patterns = &self.context.patterns;
        let envelopes = strings.formats.iter().filter_map(|format| envelope(format));
        let mut wanted = strings.patterns.clone();
        wanted.extend(envelopes.map(str::to_owned));
        let narrow = patterns.language(&wanted, &strings.not_patterns);
        // With the formats it may be too large where it is not without them.
        narrow.or_else(|| patterns.language(&strings.patterns, &strings.not_patterns))
    }

    /// Searches for a string among simple ones, where a pattern has no automaton.
    fn simple(&self, facts: &Facts) -> Option<String> {
        let strings = &facts.strings;
        for text in simple_texts(&strings.patterns, strings.min, strings.max) {
            let is_excluded = facts.excluded.iter().any(|other| *other == text.as_str());
            // Where a pattern takes too long, so it does on the next string.
            if self.fits(strings, &text)? && !is_excluded {
                return Some(text);
            }
        }
        None
    }

    /// Returns some strings that match some patterns and not others, or `None` if that is unclear.
    pub(crate) fn words(
        &self,
        wanted: &[String],
        unwanted: &[String],
        most: usize,
    ) -> Option<Words> {
        let language = self.context.patterns.language(wanted, unwanted)?;
        Some(language.words(0, None, most))
    }
}

/// Returns simple strings of different lengths within bounds, some of which may match patterns.
pub(super) fn simple_texts(patterns: &[String], min: u64, max: Option<u64>) -> Vec<String> {
    let Ok(least) = usize::try_from(min) else {
        return Vec::new();
    };
    if least > MOST_SIMPLE {
        return Vec::new();
    }
    let mut starts: Vec<String> = patterns
        .iter()
        .filter_map(|pattern| jsonschema_regex::pattern_witness(pattern))
        .collect();
    starts.extend(["", " ", "é", "-", "a-"].map(str::to_owned));
    let mut out = Vec::new();
    for length in least..=least.saturating_add(LENGTHS) {
        if max.is_some_and(|max| length as u64 > max) {
            break;
        }
        for start in &starts {
            let count = start.chars().count();
            if count > length {
                continue;
            }
            for letters in ["a", "0", "A", "aA0", "aA0-"] {
                let rest = letters.chars().cycle().take(length - count);
                out.push(start.chars().chain(rest).collect());
            }
        }
    }
    out
}
