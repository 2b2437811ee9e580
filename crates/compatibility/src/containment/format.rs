//! Formats: whether a string matches one, and strings that do.

use std::cell::RefCell;
use std::collections::HashMap;

use contract::model::Formats as Meaning;
use jsonschema::Validator;
use serde_json::{Value, json};

/// Pairs of formats: every string of the first also matches the second.
const NARROWER: [(&str, &str); 7] = [
    ("email", "idn-email"),
    ("hostname", "idn-hostname"),
    ("uri", "uri-reference"),
    ("uri", "iri"),
    ("uri", "iri-reference"),
    ("iri", "iri-reference"),
    ("uri-reference", "iri-reference"),
];

/// For formats that one can say this of, a pattern that every string of the format matches. Others match
/// it too: it proves that no string has the format and fulfils something else, and never the opposite.
/// In dates and times the validator takes some characters beside the digits for digits.
const ENVELOPES: [(&str, &str); 13] = [
    ("date", "^[*-:]{4}-[*-:]{2}-[*-:]{2}$"),
    (
        "date-time",
        "^[*-:]{4}-[*-:]{2}-[*-:]{2}[Tt][*-:]{2}:[*-:]{2}:[*-:]{2}[*-:Zz]*$",
    ),
    ("duration", "^P[0-9DHMSTWY]+$"),
    ("email", "@"),
    ("ipv4", r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$"),
    ("ipv6", "^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$"),
    ("iri", "^[a-zA-Z][a-zA-Z0-9+.-]*:"),
    ("json-pointer", "^(/|$)"),
    ("relative-json-pointer", "^[0-9]"),
    ("time", "^[*-:]{2}:[*-:]{2}:[*-:]{2}[*-:Zz]*$"),
    ("uri", "^[a-zA-Z][a-zA-Z0-9+.-]*:[!-~]*$"),
    ("uri-reference", "^[!-~]*$"),
    (
        "uuid",
        "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    ),
];

/// Strings that hardly any format accepts.
const STRAYS: [&str; 4] = ["\u{0}", "(", "", "{"];

/// The formats of a comparison.
#[derive(Debug)]
pub(crate) struct Formats {
    meaning: Meaning,
    /// The validator of each format, or `None` for one that rejects nothing.
    validators: RefCell<HashMap<String, Option<Validator>>>,
}

impl Formats {
    pub(crate) fn new(meaning: Meaning) -> Self {
        Self {
            meaning,
            validators: RefCell::default(),
        }
    }

    /// Returns whether a format rejects any string.
    pub(crate) fn is_asserted(&self, format: &str) -> bool {
        self.with(format, |validator| validator.is_some())
    }

    /// Returns whether a string matches a format. Any string matches one that is not asserted.
    pub(crate) fn matches(&self, format: &str, text: &str) -> bool {
        self.with(format, |validator| {
            validator.is_none_or(|validator| validator.is_valid(&Value::String(text.to_owned())))
        })
    }

    fn with<T>(&self, format: &str, f: impl FnOnce(Option<&Validator>) -> T) -> T {
        let mut validators = self.validators.borrow_mut();
        let validator = validators
            .entry(format.to_owned())
            .or_insert_with(|| self.compile(format));
        f(validator.as_ref())
    }

    fn compile(&self, format: &str) -> Option<Validator> {
        if self.meaning == Meaning::Annotation {
            return None;
        }
        let validator = jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&json!({ "format": format }))
            .ok()?;
        // The crate ignores formats that it does not know. A probe tells these apart from the
        // others.
        let rejects = |text: &&str| !validator.is_valid(&json!(text));
        STRAYS.iter().any(rejects).then_some(validator)
    }
}

/// Returns some strings of a format; none if the format is unknown.
pub(crate) fn samples(format: &str) -> &'static [&'static str] {
    contract::format::lookup(format).map_or(&[], |format| format.samples)
}

/// Returns a pattern that every string of a format matches, if there is one for the format.
pub(crate) fn envelope(format: &str) -> Option<&'static str> {
    let found = ENVELOPES.iter().find(|(name, _)| *name == format);
    found.map(|(_, pattern)| *pattern)
}

/// Returns whether every string of one format matches another.
pub(crate) fn is_narrower(one: &str, other: &str) -> bool {
    one == other || NARROWER.contains(&(one, other))
}

#[cfg(test)]
mod tests {
    use contract::model::Formats as Meaning;
    use proptest::prelude::*;
    use regex::Regex;

    use super::{ENVELOPES, Formats, samples};

    proptest! {
        /// An envelope that lacks a string of its format would make `diff` call a change harmless.
        #[test]
        fn every_string_of_a_format_matches_its_envelope(
            (at, sample) in (0..ENVELOPES.len(), any::<prop::sample::Index>()),
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), "[ -~é\n]?"), 0..4),
        ) {
            let (format, envelope) = ENVELOPES[at];
            let mut text: Vec<char> = sample.get(samples(format)).chars().collect();
            for (place, kind, char) in edits {
                let place = place.index(text.len() + 1);
                match (kind % 3, char.chars().next()) {
                    (0, Some(char)) => text.insert(place, char),
                    (1, Some(char)) if place < text.len() => text[place] = char,
                    _ if place < text.len() => drop(text.remove(place)),
                    _ => {}
                }
            }
            let text: String = text.into_iter().collect();
            if Formats::new(Meaning::Assertion).matches(format, &text) {
                let envelope = Regex::new(envelope).expect("it is a pattern");
                prop_assert!(envelope.is_match(&text), "{format}: {text:?}");
            }
        }
    }
}
