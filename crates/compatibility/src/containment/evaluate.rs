//! Evaluates schemas on values, with three results: fits, does not fit, unclear.

use std::cell::Cell;

use contract::format;
use contract::model::{Keywords, SchemaId, SchemaKind, Types};
use serde_json::{Map, Value};

use super::Context;
use super::decimal::Decimal;
use super::value::{Type, is_equal};
use crate::pair::Class;

/// The deepest nesting of schemas that is followed.
const MOST_DEPTH: usize = 200;
/// The maximum number of schemas that are looked at for one value.
const MOST_STEPS: usize = 200_000;

/// Returns whether a value fits a schema, or `None` if that is unclear. A lenient reader accepts
/// unknown values of extensible enumerations.
pub(crate) fn evaluate(
    context: &Context<'_>,
    class: Class,
    value: &Value,
    is_lenient: bool,
) -> Option<bool> {
    let evaluation = Evaluation {
        context,
        is_lenient,
        steps: Cell::new(0),
    };
    evaluation.schema(class, value, 0)
}

struct Evaluation<'e, 'c> {
    context: &'e Context<'c>,
    is_lenient: bool,
    steps: Cell<usize>,
}

/// The conjunction of results: false if one is, otherwise unclear if one is.
fn all(results: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_unclear = false;
    for result in results {
        match result {
            Some(false) => return Some(false),
            Some(true) => {}
            None => is_unclear = true,
        }
    }
    (!is_unclear).then_some(true)
}

fn not(result: Option<bool>) -> Option<bool> {
    result.map(|result| !result)
}

/// Returns whether the number of true results is within bounds.
fn counts(
    results: impl IntoIterator<Item = Option<bool>>,
    min: u64,
    max: Option<u64>,
) -> Option<bool> {
    let (mut sure, mut unclear) = (0_u64, 0_u64);
    for result in results {
        match result {
            Some(true) => sure += 1,
            Some(false) => {}
            None => unclear += 1,
        }
    }
    let most = max.unwrap_or(u64::MAX);
    // Decided only if it is the same however the unclear ones turn out.
    if sure >= min && sure + unclear <= most {
        return Some(true);
    }
    if sure + unclear < min || sure > most {
        return Some(false);
    }
    None
}

impl Evaluation<'_, '_> {
    fn schema(&self, class: Class, value: &Value, depth: usize) -> Option<bool> {
        self.steps.set(self.steps.get() + 1);
        if depth > MOST_DEPTH || self.steps.get() > MOST_STEPS {
            return None;
        }
        let (side, kind) = self.context.pair.member(class);
        let keywords = match kind {
            SchemaKind::Bool(value) => return Some(*value),
            SchemaKind::Object(keywords) => keywords,
        };
        let part = |id: SchemaId, value: &Value| {
            self.schema(self.context.pair.class(side, id), value, depth + 1)
        };
        all([
            Some(self.listed(keywords, value)),
            self.scalar(keywords, value),
            in_place(keywords, &|id| part(id, value)),
            match value {
                Value::Array(items) => array(keywords, items, &part),
                Value::Object(entries) => self.object(keywords, entries, value, &part),
                _ => Some(true),
            },
        ])
    }

    fn listed(&self, keywords: &Keywords, value: &Value) -> bool {
        let of_type = keywords.types.is_none_or(|types| {
            types.contains(Type::of(value).set())
                // By JSON Schema, `1.0` is an integer too.
                || (types.contains(Types::INTEGER) && is_integer(value))
        });
        let is_open = self.is_lenient && keywords.extensible;
        let is_listed = is_open
            || keywords
                .enumeration
                .as_ref()
                .is_none_or(|values| values.iter().any(|one| is_equal(one, value)));
        let is_constant = keywords
            .constant
            .as_ref()
            .is_none_or(|one| is_equal(one, value));
        of_type && is_listed && is_constant
    }

    fn scalar(&self, keywords: &Keywords, value: &Value) -> Option<bool> {
        match value {
            Value::Number(number) => {
                let Some(number) = Decimal::parse(number) else {
                    // An integer with so many digits is beyond every integer format.
                    if integer_range(keywords).is_some() {
                        return Some(false);
                    }
                    let is_free = keywords.minimum.is_none()
                        && keywords.maximum.is_none()
                        && keywords.exclusive_minimum.is_none()
                        && keywords.exclusive_maximum.is_none()
                        && keywords.multiple_of.is_none();
                    return is_free.then_some(true);
                };
                // By the facts that the search uses, so that both read a bound in the same way.
                super::expand::number_facts(keywords).and_then(|facts| {
                    let mut all = super::facts::Facts::default();
                    for fact in facts {
                        if !all.add(fact) {
                            return Some(false);
                        }
                    }
                    match all.unclear {
                        Some(_) => None,
                        None => all.numbers.accepts(number),
                    }
                })
            }
            Value::String(text) => {
                let length = text.chars().count() as u64;
                let fits = keywords.min_length.is_none_or(|min| length >= min)
                    && keywords.max_length.is_none_or(|max| length <= max)
                    && keywords
                        .format
                        .as_ref()
                        .is_none_or(|format| self.context.formats.matches(format, text));
                let matches = keywords.pattern.as_ref().map_or(Some(true), |pattern| {
                    self.context.patterns.matches(pattern, text)
                });
                all([Some(fits), matches])
            }
            _ => Some(true),
        }
    }

    fn object(
        &self,
        keywords: &Keywords,
        entries: &Map<String, Value>,
        value: &Value,
        part: &dyn Fn(SchemaId, &Value) -> Option<bool>,
    ) -> Option<bool> {
        let count = entries.len() as u64;
        let has = |name: &String| entries.contains_key(name);
        let fits = keywords.required.iter().all(has)
            && keywords.min_properties.is_none_or(|min| count >= min)
            && keywords.max_properties.is_none_or(|max| count <= max)
            && keywords
                .dependent_required
                .iter()
                .all(|(name, others)| !has(name) || others.iter().all(has));
        let mut results = vec![Some(fits)];
        for (name, entry) in entries {
            let mut is_named = false;
            if let Some(id) = keywords.properties.get(name) {
                is_named = true;
                results.push(part(*id, entry));
            }
            for (pattern, id) in &keywords.pattern_properties {
                match self.context.patterns.matches(pattern, name) {
                    Some(true) => {
                        is_named = true;
                        results.push(part(*id, entry));
                    }
                    Some(false) => {}
                    None => results.push(None),
                }
            }
            if let (false, Some(id)) = (is_named, keywords.additional_properties) {
                results.push(part(id, entry));
            }
            if let Some(id) = keywords.property_names {
                results.push(part(id, &Value::String(name.clone())));
            }
        }
        for (name, id) in &keywords.dependent_schemas {
            if has(name) {
                results.push(part(*id, value));
            }
        }
        // Which properties are evaluated depends on branches that are not recorded here.
        if keywords.unevaluated_properties.is_some() && !entries.is_empty() {
            results.push(None);
        }
        all(results)
    }
}

fn in_place(keywords: &Keywords, part: &dyn Fn(SchemaId) -> Option<bool>) -> Option<bool> {
    let branch = match keywords.if_schema.map(part) {
        None => Some(true),
        Some(Some(true)) => keywords.then_schema.map_or(Some(true), part),
        Some(Some(false)) => keywords.else_schema.map_or(Some(true), part),
        // The branches are not compared: that both decide the same is rare.
        Some(None) => None,
    };
    let list = |ids: &[SchemaId]| ids.iter().map(|id| part(*id)).collect::<Vec<_>>();
    all([
        keywords.reference.map_or(Some(true), part),
        all(list(&keywords.all_of)),
        if keywords.any_of.is_empty() {
            Some(true)
        } else {
            counts(list(&keywords.any_of), 1, None)
        },
        if keywords.one_of.is_empty() {
            Some(true)
        } else {
            counts(list(&keywords.one_of), 1, Some(1))
        },
        keywords.not.map_or(Some(true), |id| not(part(id))),
        branch,
    ])
}

fn array(
    keywords: &Keywords,
    items: &[Value],
    part: &dyn Fn(SchemaId, &Value) -> Option<bool>,
) -> Option<bool> {
    let count = items.len() as u64;
    let fits = keywords.min_items.is_none_or(|min| count >= min)
        && keywords.max_items.is_none_or(|max| count <= max)
        && (!keywords.unique_items || is_unique(items));
    let mut results = vec![Some(fits)];
    for (index, item) in items.iter().enumerate() {
        let schema = keywords.prefix_items.get(index).copied().or(keywords.items);
        results.extend(schema.map(|id| part(id, item)));
    }
    if let Some(id) = keywords.contains {
        let found = items.iter().map(|item| part(id, item)).collect::<Vec<_>>();
        let min = keywords.min_contains.unwrap_or(1);
        results.push(counts(found, min, keywords.max_contains));
    }
    // Which items are evaluated is not recorded, as with properties.
    if keywords.unevaluated_items.is_some() && !items.is_empty() {
        results.push(None);
    }
    all(results)
}

fn is_unique(items: &[Value]) -> bool {
    items
        .iter()
        .enumerate()
        // Pair by pair, since values that are equal, such as `1` and `1.0`, have no common hash.
        .all(|(index, item)| items[..index].iter().all(|other| !is_equal(item, other)))
}

/// Returns whether a value is a number without a fraction.
fn is_integer(value: &Value) -> bool {
    value.as_number().is_some_and(|number| {
        // A number with too many digits for a decimal is a float, and exactly that float.
        let of_float = || number.as_f64().is_some_and(|float| float.fract() == 0.0);
        Decimal::parse(number).map_or_else(of_float, Decimal::is_integer)
    })
}

/// Returns the range of an integer format, if a schema has one that is asserted.
pub(crate) fn integer_range(keywords: &Keywords) -> Option<(Decimal, Decimal)> {
    let is_integer = keywords
        .types
        .is_some_and(|types| types.contains(Types::INTEGER) && !types.contains(Types::NUMBER));
    let name = keywords.format.as_deref().filter(|_| is_integer)?;
    let (low, high) = format::integer_range(name)?;
    Some((Decimal::parse(&low)?, Decimal::parse(&high)?))
}
