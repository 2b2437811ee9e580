//! All keywords that a value must satisfy together: those of a schema, its references, the parts of
//! `allOf`, and the chosen branches of alternatives.

use contract::model::{Keywords, SchemaId, Types};
use serde_json::{Number, Value};

/// Keywords that apply to one value.
#[derive(Clone, Default)]
pub(super) struct Gathered {
    pub(super) all: Vec<&'static Keywords>,
    /// The values of properties by which a discriminator selects the chosen branch.
    pub(super) tags: Vec<(&'static str, Value)>,
    /// The schemas that were met, so that a cycle of references ends.
    pub(super) seen: Vec<SchemaId>,
}

impl Gathered {
    /// Returns the types that every schema accepts.
    pub(super) fn types(&self) -> Types {
        let every = Types(0x7f);
        let widened = |types: Types| {
            // `number` includes the integers, so it leaves `integer` of another schema.
            if types.contains(Types::NUMBER) {
                types.with(Types::INTEGER)
            } else {
                types
            }
        };
        let common = self
            .all
            .iter()
            .filter_map(|keywords| keywords.types)
            .fold(every, |one, other| Types(one.0 & widened(other).0));
        if common != every {
            return common;
        }
        // Without `type`, the other keywords say what is meant.
        let has = |test: fn(&Keywords) -> bool| self.all.iter().any(|keywords| test(keywords));
        if has(|keywords| {
            !keywords.properties.is_empty()
                || !keywords.required.is_empty()
                || keywords.additional_properties.is_some()
                || !keywords.pattern_properties.is_empty()
                || keywords.min_properties.is_some()
        }) {
            Types::OBJECT
        } else if has(|keywords| {
            keywords.items.is_some()
                || !keywords.prefix_items.is_empty()
                || keywords.min_items.is_some()
                || keywords.contains.is_some()
        }) {
            Types::ARRAY
        } else if has(|keywords| {
            keywords.minimum.is_some()
                || keywords.maximum.is_some()
                || keywords.exclusive_minimum.is_some()
                || keywords.exclusive_maximum.is_some()
                || keywords.multiple_of.is_some()
        }) {
            Types::NUMBER.with(Types::INTEGER)
        } else {
            Types::STRING
        }
    }

    /// Returns the values that `const` and `enum` leave, or `None` if there is no such keyword.
    pub(super) fn listed(&self) -> Option<Vec<&'static Value>> {
        let mut left: Option<Vec<&'static Value>> = None;
        for keywords in &self.all {
            let own: Option<Vec<&'static Value>> = match (&keywords.constant, &keywords.enumeration)
            {
                (Some(value), _) => Some(vec![value]),
                (None, Some(values)) => Some(values.iter().collect()),
                (None, None) => None,
            };
            left = match (left, own) {
                (Some(left), Some(own)) => Some(
                    left.into_iter()
                        .filter(|value| own.iter().any(|other| equal(value, other)))
                        .collect(),
                ),
                (left, own) => left.or(own),
            };
        }
        left
    }

    /// Returns the largest of the counts that a keyword demands.
    pub(super) fn least(&self, of: fn(&Keywords) -> Option<u64>) -> u64 {
        let counts = self.all.iter().filter_map(|keywords| of(keywords));
        counts.max().unwrap_or(0)
    }

    /// Returns the smallest of the counts that a keyword allows.
    pub(super) fn most(&self, of: fn(&Keywords) -> Option<u64>) -> Option<u64> {
        self.all.iter().filter_map(|keywords| of(keywords)).min()
    }

    /// Returns every number of a keyword.
    pub(super) fn numbers(
        &self,
        of: fn(&Keywords) -> &Option<Number>,
    ) -> impl Iterator<Item = &Number> {
        self.all
            .iter()
            .filter_map(move |keywords| of(keywords).as_ref())
    }
}

/// Returns whether two values are equal as JSON Schema means it.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    api_runtime::__private::json_eq(one, other)
}
