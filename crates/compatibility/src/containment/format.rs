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

/// Returns whether every string of one format matches another.
pub(crate) fn is_narrower(one: &str, other: &str) -> bool {
    one == other || NARROWER.contains(&(one, other))
}
