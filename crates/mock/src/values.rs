//! Values of schemas: the examples of the contract, or made up by the keywords.
//!
//! A value is returned only if the compiled schema accepts it. Most are made by walking the
//! keywords; where that fails, the search of `compatibility` is asked, which solves what
//! contradicts itself at first sight.

mod formats;
mod gather;
mod make;
mod numbers;
mod pattern;
mod texts;

use std::collections::BTreeMap;
use std::fmt;

use api_runtime::Schemas;
use compatibility::Reading;
use contract::Contract;
use contract::model::{SchemaId, SchemaKind};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::Value;

use make::Maker;

use crate::collections::properties;

/// The number of values that are made up before the search is asked.
const ATTEMPTS: u64 = 12;

/// A maker of values for the schemas of a contract.
#[derive(Clone, Copy)]
pub struct Values {
    contract: &'static Contract,
    schemas: &'static Schemas,
}

/// Why there is no value of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoValue {
    /// The pointer of the schema.
    pub pointer: String,
    /// The reason.
    pub why: String,
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no value was found for the schema at {}: {}; give it an example",
            self.pointer, self.why
        )
    }
}

impl std::error::Error for NoValue {}

impl Values {
    /// Prepares the schemas of a contract.
    #[must_use]
    pub fn new(contract: &'static Contract, schemas: &'static Schemas) -> Self {
        Self { contract, schemas }
    }

    /// Returns the pointer of a schema, after its references.
    #[must_use]
    pub fn pointer(&self, id: SchemaId) -> &'static str {
        &self.contract.schema(self.contract.resolve(id)).pointer
    }

    /// Returns the properties that an object of a response may have, with their schemas.
    pub(crate) fn properties(&self, id: SchemaId) -> BTreeMap<&'static str, SchemaId> {
        properties(self.contract, id)
    }

    /// Checks a value, such as an example of the document.
    ///
    /// # Errors
    ///
    /// Returns the first rule that the value breaks.
    pub fn check(&self, id: SchemaId, value: &Value) -> Result<(), NoValue> {
        let pointer = self.pointer(id);
        self.schemas
            .validate(pointer, value)
            .map_err(|violations| NoValue {
                pointer: pointer.to_owned(),
                why: violations
                    .first()
                    .map_or_else(String::new, ToString::to_string),
            })
    }

    /// Returns a value of a response that the schema accepts. The same seed yields the same value.
    /// Examples of schemas are used unless `is_dynamic`.
    ///
    /// # Errors
    ///
    /// Returns the reason if no value was found.
    pub fn value(&self, id: SchemaId, seed: u64, is_dynamic: bool) -> Result<Value, NoValue> {
        let pointer = self.pointer(id);
        let mut why = None;
        for attempt in 0..ATTEMPTS {
            // Far apart, so that the attempts of one seed are not those of the next.
            let random = StdRng::seed_from_u64(seed.wrapping_add(attempt.wrapping_mul(0x9E37)));
            // Later attempts leave out what can be left out, and trust no example.
            let mut maker = Maker::new(self.contract, random)
                .with_examples(attempt == 0 && !is_dynamic)
                .with_optional(attempt < ATTEMPTS / 2);
            match maker.value(id) {
                Some(value) => match self.check(id, &value) {
                    Ok(()) => return Ok(value),
                    Err(error) => why = why.or(Some(error.why)),
                },
                None if maker.is_exhausted() => {
                    why = why.or(Some("it takes too many parts".to_owned()));
                }
                None => {}
            }
        }
        let found = compatibility::example(self.contract, id, Reading::Response);
        match found.filter(|value| self.schemas.accepts(pointer, value)) {
            Some(value) => Ok(value),
            None => Err(NoValue {
                pointer: pointer.to_owned(),
                why: why.unwrap_or_else(|| self.nothing(id)),
            }),
        }
    }

    fn nothing(&self, id: SchemaId) -> String {
        match &self.contract.schema(self.contract.resolve(id)).kind {
            SchemaKind::Bool(false) => "it accepts nothing".to_owned(),
            _ => "its keywords contradict each other, or are too hard to satisfy".to_owned(),
        }
    }
}
