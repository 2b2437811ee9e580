//! Values that are written as text, such as parameters: the receiver reads a text as a value of the type
//! that its schema asks for.

use contract::model::{Keywords, SchemaKind, Types};
use serde_json::{Map, Value};

use super::facts::Fact;
use super::literal::Literal;
use super::outcome::Outcome;
use super::tableau::{Extra, Tableau};
use super::{Containment, Context, Question};

/// How the values of a message are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Carrier {
    /// With their types, as JSON writes them.
    Json,
    /// As text, of which the schema says what it stands for: a parameter, a header or a form. Its fields
    /// and items are such texts too.
    Text,
    /// As a field of such a text. Its items are texts, and its own fields are written as JSON.
    Field,
    /// As an item of such a text, or of a field. What is within it is written as JSON.
    Item,
}

/// The maximum number of values that a search finds and that a receiver reads as others that fit.
pub(super) const MOST_READ: usize = 32;
/// The maximum number of values as which a receiver may read a text.
const MOST_READINGS: usize = 64;
/// The texts of integers.
const INTEGER: &str = "0|-?[1-9][0-9]*";
/// The texts of integers that are not negative.
const NATURAL: &str = "0|[1-9][0-9]*";
/// The texts of numbers, however they are spelt.
const NUMBER: &str = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?";
/// The texts of truth values.
const BOOLEAN: &str = "true|false";

impl Context<'_> {
    /// Returns whether the receiver may read the text of a value, which does not fit, as a value that
    /// fits.
    pub(super) fn reads(&self, question: &Question<'_>, value: &Value) -> bool {
        let mut readings = readings(value, question.carrier);
        // Of many parts not all readings are tried, but those in which all are read alike.
        readings.push(as_texts(value, question.carrier));
        let is_list = matches!(question.carrier, Carrier::Text | Carrier::Field);
        if is_list && let Some(text) = text(value) {
            // A list of one item is written as the item.
            let is_whole = text
                .chars()
                .all(|one| one.is_alphanumeric() || matches!(one, '_' | '-'));
            let lists = readings.clone().into_iter().filter(|_| is_whole);
            readings.extend(lists.map(|item| Value::Array(vec![item])));
        }
        let mut readings = readings.iter();
        let receiver = question.sender.other();
        readings.any(|reading| {
            reading != value && self.is_valid(receiver, question.received, reading) == Some(true)
        })
    }

    /// Decides a question by the texts that are sent, or returns `None` if they do not decide it. `value`
    /// is sent and does not fit, but the receiver reads it as another one that fits.
    pub(super) fn contain_texts(
        &self,
        tableau: &Tableau<'_, '_>,
        question: &Question<'_>,
        (sent, received): (Literal, Literal),
        value: &Value,
    ) -> Option<Containment> {
        if value.is_string() {
            return self.contain_strings(tableau, question, &[sent, received]);
        }
        let sender = question.sender;
        let id = self.pair.end(sender, question.sent);
        let SchemaKind::Object(keywords) = &self.pair.contract(sender).schema(id).kind else {
            return None;
        };
        let mut extra = Extra {
            facts: vec![Fact::Pattern(texts(keywords)?)],
            ..Extra::default()
        };
        for _ in 0..MOST_READ {
            match tableau.solve_text(&[received], &extra) {
                Outcome::Nothing => return Some(Containment::Contained),
                Outcome::Value(Value::String(text)) => {
                    let value: Value = serde_json::from_str(&text).ok()?;
                    let is_sent = self.is_valid(sender, question.sent, &value) == Some(true);
                    let is_refused =
                        self.is_valid(sender.other(), question.received, &value) == Some(false);
                    if is_sent && is_refused && !self.reads(question, &value) {
                        return Some(Containment::Broken(value));
                    }
                    extra.excluded.push(text.into());
                }
                Outcome::Value(_) | Outcome::Unknown(_) => return None,
            }
        }
        // What the search has found is out of bounds, so the numbers at the bounds are tried.
        let whole = |bound: &Option<serde_json::Number>| bound.as_ref()?.as_i64();
        let (least, most) = (whole(&keywords.minimum), whole(&keywords.maximum));
        let powers = (1..19).map(|power| 10_i64.pow(power));
        let tried = powers.flat_map(|power| [power, -power, power - 1, 1 - power]);
        let mut tried = tried.chain(least).chain(most).map(Value::from);
        let broken = tried.find(|value| {
            self.is_valid(sender, question.sent, value) == Some(true)
                && self.is_valid(sender.other(), question.received, value) == Some(false)
                && !self.reads(question, value)
        });
        broken.map(Containment::Broken)
    }

    /// Searches for a string that is sent, does not fit, and is the text of nothing but a string.
    fn contain_strings(
        &self,
        tableau: &Tableau<'_, '_>,
        question: &Question<'_>,
        literals: &[Literal],
    ) -> Option<Containment> {
        let typed = Fact::NotPattern(format!("^(?:{NUMBER}|{BOOLEAN})$"));
        // A word may be read as a list of it.
        let word = Fact::NotPattern(r"^[\w-]*$".to_owned());
        let sender = question.sender;
        for facts in [vec![typed.clone()], vec![typed, word]] {
            let extra = Extra {
                facts,
                ..Extra::default()
            };
            let Outcome::Value(value) = tableau.solve_text(literals, &extra) else {
                return None;
            };
            let is_broken = self.is_valid(sender, question.sent, &value) == Some(true)
                && self.is_valid(sender.other(), question.received, &value) == Some(false)
                && !self.reads(question, &value);
            if is_broken {
                return Some(Containment::Broken(value));
            }
        }
        None
    }
}

/// Returns a pattern of the texts of all values of a schema, and perhaps of others, or `None` if some of
/// its values are no numbers or truth values.
fn texts(keywords: &Keywords) -> Option<String> {
    let types = keywords.types?;
    let scalars = Types::NUMBER.with(Types::INTEGER).with(Types::BOOLEAN);
    if types.is_empty() || !types.without(scalars).is_empty() {
        return None;
    }
    let least = |bound: &Option<serde_json::Number>| bound.as_ref()?.as_f64();
    let is_natural = least(&keywords.minimum).is_some_and(|least| least >= 0.0)
        || least(&keywords.exclusive_minimum).is_some_and(|least| least >= -1.0);
    let mut texts = Vec::new();
    if types.contains(Types::NUMBER) {
        texts.push(NUMBER);
    } else if types.contains(Types::INTEGER) {
        texts.push(if is_natural { NATURAL } else { INTEGER });
    }
    if types.contains(Types::BOOLEAN) {
        texts.push(BOOLEAN);
    }
    Some(format!("^(?:{})$", texts.join("|")))
}

/// Returns a value as it is written where values are text.
pub(crate) fn written(value: &Value) -> String {
    text(value).unwrap_or_else(|| value.to_string())
}

/// Returns the text of a scalar.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the values as which a receiver may read what is written for a value.
fn readings(value: &Value, carrier: Carrier) -> Vec<Value> {
    if carrier == Carrier::Json {
        return vec![value.clone()];
    }
    if let Some(text) = text(value) {
        let typed = serde_json::from_str(&text).ok();
        // Other spellings of a number, such as `1e3` and `1.0`, are no integers to every reader.
        let typed = typed.filter(|typed: &Value| {
            let is_whole = typed.as_f64().is_some_and(|number| number.fract() == 0.0);
            (typed.is_i64() || typed.is_u64() || typed.is_boolean() || typed.is_f64() && !is_whole)
                && typed.to_string().as_str() == text.as_str()
        });
        // The typed one first, since of many parts only the first readings are tried.
        return typed.into_iter().chain([Value::String(text)]).collect();
    }
    match value {
        Value::Array(items) if carrier != Carrier::Item => {
            let mut lists = vec![Vec::new()];
            for item in items {
                lists = extended(&lists, &readings(item, Carrier::Item), |list, item| {
                    list.push(item);
                });
            }
            lists.into_iter().map(Value::Array).collect()
        }
        Value::Object(fields) if carrier == Carrier::Text => {
            let mut objects = vec![Map::new()];
            for (name, field) in fields {
                objects = extended(
                    &objects,
                    &readings(field, Carrier::Field),
                    |object, field| {
                        object.insert(name.clone(), field);
                    },
                );
            }
            objects.into_iter().map(Value::Object).collect()
        }
        _ => vec![value.clone()],
    }
}

/// Returns a value with a text in place of each part that is written as text.
fn as_texts(value: &Value, carrier: Carrier) -> Value {
    match value {
        _ if carrier == Carrier::Json => value.clone(),
        Value::Array(items) if carrier != Carrier::Item => {
            let items = items.iter().map(|item| as_texts(item, Carrier::Item));
            items.collect()
        }
        Value::Object(fields) if carrier == Carrier::Text => {
            let fields = fields.iter();
            let fields =
                fields.map(|(name, field)| (name.clone(), as_texts(field, Carrier::Field)));
            Value::Object(fields.collect())
        }
        _ => text(value).map_or_else(|| value.clone(), Value::String),
    }
}

/// Returns each value with each of the parts, the first of them if they are many.
fn extended<T: Clone>(values: &[T], parts: &[Value], add: impl Fn(&mut T, Value)) -> Vec<T> {
    let pairs = values
        .iter()
        .flat_map(|value| parts.iter().map(move |part| (value, part)));
    pairs
        .take(MOST_READINGS)
        .map(|(value, part)| {
            let mut value = value.clone();
            add(&mut value, part.clone());
            value
        })
        .collect()
}
