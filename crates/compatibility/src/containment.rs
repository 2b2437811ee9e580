//! Containment of schemas: whether every value that fits one also fits another.
//!
//! Start at [`contain`]. `pair` sorts the schemas of both contracts into classes of equal meaning;
//! `tableau` searches for a value that fits one schema and not the other; `expand` writes schemas
//! for it as facts and alternatives; `decimal`, `strings`, `arrays` and `objects` find a value of a
//! type, within a `budget`. Every value that is found is validated by the `jsonschema` crate against both schemas
//! before it is returned. What the search cannot decide is tried with random values (`sample`).

mod arrays;
mod budget;
mod decimal;
mod engines;
mod evaluate;
mod evaluated;
mod expand;
mod facts;
mod format;
mod joined;
mod language;
mod literal;
mod objects;
mod outcome;
mod pattern;
mod sample;
mod strings;
mod tableau;
mod text;
mod unions;
mod validate;
mod value;

use std::collections::HashSet;
use std::rc::Rc;

use contract::model::{Contract, Keywords, SchemaId};
use serde_json::Value;

use crate::pair::{Class, Pair, Side};
use facts::Fact;
use literal::{Literal, Role};
use outcome::Outcome;
use tableau::{Extra, Tableau};
use validate::Validators;

pub(crate) use decimal::Decimal;
pub(crate) use format::is_narrower;
pub use sample::MOST_SAMPLES;
pub(crate) use text::{Carrier, written};

/// How two schemas are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reading {
    /// The schemas mean what JSON Schema says, for a sender and for a receiver alike.
    Exact,
    /// The schemas are those of a request: the sender sends only the properties that it knows, and none that is
    /// read-only and may be left out.
    Request,
    /// The schemas are those of a response: the sender sends only the properties that it knows, and none that is
    /// write-only and may be left out, and the receiver accepts unknown values of extensible
    /// enumerations.
    Response,
}

/// Whether a schema is contained in another one.
#[derive(Debug, Clone, PartialEq)]
pub enum Containment {
    /// Every value that fits the first schema fits the second.
    Contained,
    /// This value fits the first schema and not the second.
    Broken(Value),
    /// The search did not decide it.
    Undecided {
        /// The reason, as a noun, such as "too many alternatives".
        why: &'static str,
        /// The number of random values that fit the first schema, all of which fit the second.
        agreed: usize,
    },
}

/// Decides whether every value that fits the schema `one` of the contract `base` fits the schema
/// `other` of `revision`.
#[must_use]
pub fn contain(
    (base, one): (&Contract, SchemaId),
    (revision, other): (&Contract, SchemaId),
    reading: Reading,
) -> Containment {
    let context = Context::new(base, revision);
    context.contain(&Question {
        sender: Side::Base,
        sent: one,
        received: other,
        reading,
        carrier: Carrier::Json,
        assumed: &HashSet::new(),
    })
}

/// Returns a small value that fits a schema and that a sender may send, or `None` if the search
/// finds none. The `jsonschema` crate has accepted the value.
#[must_use]
pub fn example(contract: &Contract, id: SchemaId, reading: Reading) -> Option<Value> {
    Context::new(contract, contract).example(Side::Base, id, reading)
}

/// Why no value that was found is validated.
const WAYS: &str = "`unevaluatedProperties` or `unevaluatedItems` beside too many alternatives";

/// What comparisons of two contracts share.
pub(crate) struct Context<'c> {
    pub(crate) pair: Pair<'c>,
    patterns: pattern::Patterns,
    formats: format::Formats,
    validators: Validators,
    budget: budget::Budget,
}

/// The result of a search for a string.
pub(crate) enum Text {
    Found(String),
    /// It is certain that there is none.
    Nothing,
    /// The search does not decide it.
    Unclear,
}

/// A question about two schemas.
pub(crate) struct Question<'q> {
    /// The contract by which values are sent. The other one is that by which they are received.
    pub(crate) sender: Side,
    /// The schema of the sender.
    pub(crate) sent: SchemaId,
    /// The schema of the receiver.
    pub(crate) received: SchemaId,
    pub(crate) reading: Reading,
    pub(crate) carrier: Carrier,
    /// Pairs of classes of which the first is taken to be contained in the second.
    pub(crate) assumed: &'q HashSet<(Class, Class)>,
}

impl<'c> Context<'c> {
    pub(crate) fn new(base: &'c Contract, revision: &'c Contract) -> Self {
        let engines = engines::Engines::default();
        Self {
            pair: Pair::new(base, revision),
            patterns: pattern::Patterns::with(engines.clone()),
            formats: format::Formats::new(base.formats),
            validators: Validators::with(engines),
            budget: budget::Budget::default(),
        }
    }

    pub(crate) fn contain(&self, question: &Question<'_>) -> Containment {
        let receiver = question.sender.other();
        let sent = Literal {
            class: self.pair.class(question.sender, question.sent),
            role: Role::Sender,
            is_positive: true,
        };
        let received = Literal {
            class: self.pair.class(receiver, question.received),
            role: Role::Receiver,
            is_positive: false,
        };
        let tableau = Tableau::new(self, question.reading, question.assumed.clone());
        let mut extra = Extra::default();
        let why = loop {
            let value = match tableau.solve(vec![sent, received], &extra) {
                Outcome::Nothing => return Containment::Contained,
                Outcome::Unknown(why) => break why,
                Outcome::Value(value) => value,
            };
            let fits = self.is_valid(question.sender, question.sent, &value);
            let fails = self.is_valid(receiver, question.received, &value);
            // The search leaves some keywords out, which the value may break. Only what the
            // validator confirms counts.
            if (fits, fails) != (Some(true), Some(false)) {
                let many = |side, id| self.validators.has_many_ways(side, id);
                break if many(question.sender, question.sent) || many(receiver, question.received) {
                    WAYS
                } else {
                    "a value on which the validator disagrees"
                };
            }
            if !self.reads(question, &value) {
                return Containment::Broken(value);
            }
            if extra.excluded.is_empty()
                && let Some(decided) =
                    self.contain_texts(&tableau, question, (sent, received), &value)
            {
                return decided;
            }
            if extra.excluded.len() >= text::MOST_READ {
                break "texts that are read as another type";
            }
            extra.excluded.push(value);
        };
        self.sample(question, why)
    }

    /// Returns a small value that a sender may send, or `None` if none was found.
    pub(crate) fn example(&self, side: Side, id: SchemaId, reading: Reading) -> Option<Value> {
        let literal = Literal {
            class: self.pair.class(side, id),
            role: Role::Sender,
            is_positive: true,
        };
        let tableau = Tableau::new(self, reading, HashSet::new());
        match tableau.solve(vec![literal], &Extra::default()) {
            Outcome::Value(value) => {
                (self.is_valid(side, id, &value) == Some(true)).then_some(value)
            }
            Outcome::Nothing | Outcome::Unknown(_) => None,
        }
    }

    /// Returns a string that a sender may send and that a pattern matches.
    pub(crate) fn text_like(&self, side: Side, id: SchemaId, pattern: &str) -> Text {
        let literal = Literal {
            class: self.pair.class(side, id),
            role: Role::Sender,
            is_positive: true,
        };
        let extra = Extra {
            facts: vec![Fact::Pattern(pattern.to_owned())],
            ..Extra::default()
        };
        let tableau = Tableau::new(self, Reading::Request, HashSet::new());
        match tableau.solve_text(&[literal], &extra) {
            Outcome::Value(Value::String(text)) => Text::Found(text),
            Outcome::Value(_) | Outcome::Nothing => Text::Nothing,
            Outcome::Unknown(_) => Text::Unclear,
        }
    }

    /// Returns a small value that a sender may send in a request, other than some values, or `None` if
    /// none was found.
    pub(crate) fn other_example(
        &self,
        side: Side,
        id: SchemaId,
        excluded: Vec<Value>,
    ) -> Option<Value> {
        let literal = Literal {
            class: self.pair.class(side, id),
            role: Role::Sender,
            is_positive: true,
        };
        let extra = Extra {
            excluded,
            ..Extra::default()
        };
        let tableau = Tableau::new(self, Reading::Request, HashSet::new());
        match tableau.solve(vec![literal], &extra) {
            Outcome::Value(value) => {
                (self.is_valid(side, id, &value) == Some(true)).then_some(value)
            }
            Outcome::Nothing | Outcome::Unknown(_) => None,
        }
    }

    /// Returns whether it is certain that no value fits a schema.
    pub(crate) fn is_impossible(&self, id: SchemaId) -> bool {
        self.are_impossible(&[id])
    }

    /// Returns whether it is certain that no value fits all of these schemas.
    pub(crate) fn are_impossible(&self, ids: &[SchemaId]) -> bool {
        let literal = |id: &SchemaId| Literal {
            class: self.pair.class(Side::Base, *id),
            role: Role::Receiver,
            is_positive: true,
        };
        let tableau = Tableau::new(self, Reading::Exact, HashSet::new());
        let outcome = tableau.solve(ids.iter().map(literal).collect(), &Extra::default());
        matches!(outcome, Outcome::Nothing)
    }

    /// Returns whether it is certain that no object that fits a schema has a property.
    pub(crate) fn excludes(&self, id: SchemaId, name: &str) -> bool {
        let literal = Literal {
            class: self.pair.class(Side::Base, id),
            role: Role::Receiver,
            is_positive: true,
        };
        let extra = Extra {
            facts: vec![Fact::Required(name.to_owned())],
            ..Extra::default()
        };
        let tableau = Tableau::new(self, Reading::Exact, HashSet::new());
        matches!(tableau.solve_object(&[literal], &extra), Outcome::Nothing)
    }

    /// Returns a value that the branch `one` of a `oneOf` describes and the branch `other` accepts
    /// too, with what is beside the `oneOf`, or `None` if none was found.
    pub(crate) fn common(
        &self,
        one_of: SchemaId,
        beside: &Rc<Keywords>,
        (one, other): (SchemaId, SchemaId),
    ) -> Option<Value> {
        let side = Side::Base;
        let literal = |id, role| Literal {
            class: self.pair.class(side, id),
            role,
            is_positive: true,
        };
        // As sent for one of them: any two objects that allow unknown properties would overlap.
        let literals = vec![literal(one, Role::Sender), literal(other, Role::Receiver)];
        let extra = Extra {
            sent: Some((side, Rc::clone(beside))),
            ..Extra::default()
        };
        let tableau = Tableau::new(self, Reading::Request, HashSet::new());
        let Outcome::Value(value) = tableau.solve(literals, &extra) else {
            return None;
        };
        let contract = self.pair.contract(side);
        let fits_beside = || {
            self.validators
                .fits_beside_one_of(side, contract, one_of, &value)
        };
        let fits = self.is_valid(side, one, &value) == Some(true)
            && self.is_valid(side, other, &value) == Some(true)
            && fits_beside() == Some(true);
        fits.then_some(value)
    }

    /// Returns a value that a receiver refuses, [`Containment::Contained`] if it accepts all.
    pub(crate) fn refused(&self, side: Side, id: SchemaId, reading: Reading) -> Containment {
        let literal = Literal {
            class: self.pair.class(side, id),
            role: Role::Receiver,
            is_positive: false,
        };
        let tableau = Tableau::new(self, reading, HashSet::new());
        let why = match tableau.solve(vec![literal], &Extra::default()) {
            Outcome::Nothing => return Containment::Contained,
            Outcome::Value(value) if self.is_valid(side, id, &value) == Some(false) => {
                return Containment::Broken(value);
            }
            Outcome::Value(_) if self.validators.has_many_ways(side, id) => WAYS,
            Outcome::Value(_) => "a value on which the validator disagrees",
            Outcome::Unknown(why) => why,
        };
        Containment::Undecided { why, agreed: 0 }
    }

    /// Returns whether a format rejects any string.
    pub(crate) fn is_asserted(&self, format: &str) -> bool {
        self.formats.is_asserted(format)
    }

    /// Returns whether a value fits a schema, by the `jsonschema` crate.
    pub(crate) fn is_valid(&self, side: Side, id: SchemaId, value: &Value) -> Option<bool> {
        let contract = self.pair.contract(side);
        self.validators.is_valid(side, contract, id, value)
    }
}
