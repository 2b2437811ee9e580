//! Random values of a schema, for what the search does not decide.

use std::collections::HashMap;
use std::rc::Rc;

use contract::model::{Keywords, SchemaId, SchemaKind, Types};
use serde_json::{Map, Value};

use super::evaluate::evaluate;
use super::format::samples;
use super::strings::simple_texts;
use super::{Containment, Context, Question, Reading};
use crate::pair::Side;

/// The maximum number of random values that are generated where the search does not decide.
pub const MOST_SAMPLES: usize = 400;
/// The depth from which optional parts are left out.
const DEEP: usize = 5;
/// The deepest nesting of values.
const MOST_DEPTH: usize = 12;
/// The maximum number of strings that are tried for a pattern without an automaton.
const MOST_TEXTS: usize = 200;
/// The number of strings of a pattern to choose from.
const WORDS: usize = 24;

impl Context<'_> {
    /// Tries random values: returns the first that is sent and not accepted, or how many agreed.
    pub(super) fn sample(&self, question: &Question<'_>, why: &'static str) -> Containment {
        let receiver = question.sender.other();
        let mut random = Random::default();
        let mut agreed = 0;
        for _ in 0..MOST_SAMPLES {
            if !self.budget.sample() {
                break;
            }
            let Some(value) = self.random(question.sender, question.sent, &mut random, 0) else {
                continue;
            };
            // What is never sent says nothing about the receiver.
            if self.is_valid(question.sender, question.sent, &value) != Some(true) {
                continue;
            }
            match self.is_valid(receiver, question.received, &value) {
                Some(true) => agreed += 1,
                Some(false) if self.reads(question, &value) => agreed += 1,
                Some(false) if self.is_refused(question, &value) => {
                    return Containment::Broken(value);
                }
                _ => {}
            }
        }
        Containment::Undecided { why, agreed }
    }

    /// Returns whether a value that does not fit breaks somebody: no pair of schemas is taken to be
    /// contained, and a lenient reader refuses the value as well.
    fn is_refused(&self, question: &Question<'_>, value: &Value) -> bool {
        let class = self.pair.class(question.sender.other(), question.received);
        let is_lenient = question.reading == Reading::Response;
        question.assumed.is_empty() && evaluate(self, class, value, is_lenient) == Some(false)
    }

    /// Returns a random value that mostly fits a schema, or `None` if none was found.
    fn random(&self, side: Side, id: SchemaId, random: &mut Random, depth: usize) -> Option<Value> {
        if depth > MOST_DEPTH || !self.budget.part() {
            return None;
        }
        let contract = self.pair.contract(side);
        let keywords = match &contract.schema(id).kind {
            SchemaKind::Bool(true) => return Some(random.any()),
            SchemaKind::Bool(false) => return None,
            SchemaKind::Object(keywords) => keywords,
        };
        // First, since no other keyword can add to a fixed value.
        if let Some(value) = &keywords.constant {
            return Some(value.clone());
        }
        if let Some(values) = &keywords.enumeration {
            return random.of(values).cloned();
        }
        let branches: Vec<SchemaId> = [&keywords.one_of, &keywords.any_of]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let also = keywords.reference.iter().chain(&keywords.all_of).copied();
        // One branch alone: a second would mostly break a `oneOf`. Where that is too few, the value
        // is dropped like all that do not fit.
        let also = also.chain(random.of(&branches).copied());
        let mut value = None;
        for part in also.collect::<Vec<_>>() {
            value = Some(merge(value, self.random(side, part, random, depth + 1)?));
        }
        let has_own = keywords.types.is_some() || !keywords.properties.is_empty();
        // The parts of objects add up. Of other values, the own one would replace what fits a part.
        if value.is_none() || (has_own && matches!(value, Some(Value::Object(_)))) {
            value = Some(merge(value, self.own(side, keywords, random, depth)?));
        }
        value
    }

    /// Returns a random value by the keywords of a schema alone.
    fn own(
        &self,
        side: Side,
        keywords: &Keywords,
        random: &mut Random,
        depth: usize,
    ) -> Option<Value> {
        let all = [
            Types::OBJECT,
            Types::STRING,
            Types::INTEGER,
            Types::NUMBER,
            Types::BOOLEAN,
            Types::ARRAY,
            Types::NULL,
        ];
        let types: Vec<Types> = all
            .into_iter()
            .filter(|kind| keywords.types.is_none_or(|types| types.contains(*kind)))
            .collect();
        Some(match *random.of(&types)? {
            Types::NULL => Value::Null,
            Types::BOOLEAN => random.flip().into(),
            Types::STRING => Value::String(self.text(keywords, random)),
            Types::ARRAY => {
                // Longer lists would use up the budget of all samples. A list that is too short is
                // dropped.
                let least = usize::try_from(keywords.min_items.unwrap_or(0))
                    .ok()?
                    .min(50);
                // A schema that contains itself would otherwise not end.
                let count = if depth > DEEP {
                    least
                } else {
                    least + random.below(3)
                };
                let mut items = Vec::new();
                for index in 0..count {
                    let schema = keywords.prefix_items.get(index).copied().or(keywords.items);
                    items.push(match schema {
                        Some(id) => self.random(side, id, random, depth + 1)?,
                        None => random.any(),
                    });
                }
                Value::Array(items)
            }
            Types::OBJECT => {
                let mut entries = Map::new();
                for (name, id) in &keywords.properties {
                    let is_required = keywords.required.contains(name);
                    if is_required || (depth < DEEP && random.flip()) {
                        match self.random(side, *id, random, depth + 1) {
                            Some(value) => entries.insert(name.clone(), value),
                            None if is_required => return None,
                            None => None,
                        };
                    }
                }
                for name in &keywords.required {
                    if !entries.contains_key(name) {
                        entries.insert(name.clone(), random.any());
                    }
                }
                // One more property shows whether the receiver has a closed object.
                if let Some(id) = keywords.additional_properties
                    && random.flip()
                    && let Some(value) = self.random(side, id, random, depth + 1)
                {
                    entries.insert("extra".to_owned(), value);
                }
                Value::Object(entries)
            }
            kind => number(keywords, kind == Types::INTEGER, random),
        })
    }

    fn text(&self, keywords: &Keywords, random: &mut Random) -> String {
        let format = keywords.format.as_deref().unwrap_or_default();
        if let Some(sample) = random.of(samples(format)) {
            return (*sample).to_owned();
        }
        let min = keywords.min_length.unwrap_or(0);
        let wanted = (keywords.pattern.clone(), min, keywords.max_length);
        let words = if let Some(words) = random.words.get(&wanted) {
            Rc::clone(words)
        } else {
            let words: Rc<[String]> = self.words_of(&wanted).into();
            random.words.insert(wanted, Rc::clone(&words));
            words
        };
        random.of(&words).cloned().unwrap_or_default()
    }

    /// Returns some strings that match a pattern.
    fn words_of(&self, (pattern, min, max): &Text) -> Vec<String> {
        let patterns: Vec<String> = pattern.iter().cloned().collect();
        let most = if patterns.is_empty() { 4 } else { WORDS };
        if let Some(language) = self.patterns.language(&patterns, &[]) {
            return language.words(*min, *max, most).list;
        }
        let matches = |text: &String| {
            let mut patterns = patterns.iter();
            patterns.all(|pattern| self.patterns.matches(pattern, text) == Some(true))
        };
        let texts = simple_texts(&patterns, *min, *max).into_iter();
        texts.take(MOST_TEXTS).filter(matches).collect()
    }
}

fn number(keywords: &Keywords, is_integer: bool, random: &mut Random) -> Value {
    let bound =
        |number: &Option<serde_json::Number>| number.as_ref().and_then(serde_json::Number::as_i64);
    let low = bound(&keywords.minimum).or(bound(&keywords.exclusive_minimum));
    let high = bound(&keywords.maximum).or(bound(&keywords.exclusive_maximum));
    let step = bound(&keywords.multiple_of)
        .filter(|step| *step > 0)
        .unwrap_or(1);
    // Near a bound, since that is where two schemas disagree that differ in it.
    let near = i64::try_from(random.below(40)).unwrap_or(0);
    let number = match (low, high) {
        (Some(low), Some(high)) if random.flip() => high.saturating_sub(near).max(low),
        (Some(low), _) => low.saturating_add(near),
        (None, Some(high)) => high.saturating_sub(near),
        (None, None) => near - 10,
    };
    // This may leave the bounds. Such values are dropped like all that do not fit.
    let number = number.saturating_sub(number.rem_euclid(step));
    if is_integer || random.flip() {
        return number.into();
    }
    #[expect(clippy::cast_precision_loss, reason = "any number nearby serves")]
    let float = number as f64 + 0.5;
    serde_json::Number::from_f64(float).map_or(Value::Null, Value::Number)
}

/// Joins two objects; of other values, the second is kept.
fn merge(one: Option<Value>, other: Value) -> Value {
    match (one, other) {
        (Some(Value::Object(mut one)), Value::Object(other)) => {
            for (key, value) in other {
                one.entry(key).or_insert(value);
            }
            Value::Object(one)
        }
        (_, other) => other,
    }
}

/// Random numbers by xorshift. Always the same, so that a verdict does not change between runs.
struct Random {
    state: u64,
    /// The strings to choose from for a pattern and bounds of the length.
    words: HashMap<Text, Rc<[String]>>,
}

/// The pattern, the smallest and the largest length of a string.
type Text = (Option<String>, u64, Option<u64>);

impl Default for Random {
    fn default() -> Self {
        Self {
            state: 0x9e37_79b9_7f4a_7c15,
            words: HashMap::new(),
        }
    }
}

impl Random {
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % bound.max(1)
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 1
    }

    fn of<'i, T>(&mut self, items: &'i [T]) -> Option<&'i T> {
        let index = self.below(items.len());
        items.get(index)
    }

    fn any(&mut self) -> Value {
        let simple = [
            Value::Null,
            false.into(),
            0.into(),
            "".into(),
            "a".into(),
            Value::Array(Vec::new()),
            Value::Object(Map::new()),
        ];
        self.of(&simple).cloned().unwrap_or_default()
    }
}
