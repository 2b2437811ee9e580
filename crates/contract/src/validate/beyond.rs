//! Defaults that are valid, with an integer that no integer type of 64 bits holds beside the other values
//! of its schema.

use serde_json::Number;

use super::Violation;
use crate::build::{Role, ValueSite};
use crate::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use crate::node::{Node, NodeValue};

/// One more than the largest `i64`, which is no float.
const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

/// How many `allOf` are followed within each other.
const DEEPEST: usize = 32;

/// Returns what is wrong with a default that has an integer which no type holds.
pub(super) fn violation(
    contract: &Contract,
    ends: &[SchemaId],
    site: &ValueSite<'_>,
) -> Option<Violation> {
    let schemas = Schemas { contract, ends };
    let is_beyond =
        site.role == Role::Default && schemas.is_beyond(site.schema, site.node, true, 0);
    is_beyond.then(Violation::beyond)
}

struct Schemas<'a> {
    contract: &'a Contract,
    /// The schema that each one refers to in the end.
    ends: &'a [SchemaId],
}

impl Schemas<'_> {
    /// Returns whether a value has an integer that no type holds. `is_whole` if it is the whole default
    /// of the schema, whose type is chosen for it.
    fn is_beyond(&self, schema: SchemaId, value: &Node, is_whole: bool, depth: usize) -> bool {
        let end = self.ends[schema.index()];
        let SchemaKind::Object(keywords) = &self.contract.schema(end).kind else {
            return false;
        };
        let own = match &value.value {
            NodeValue::Number(number) => {
                is_integer(keywords.types) && !is_held(number, keywords, is_whole)
            }
            NodeValue::Array(items) => items.iter().enumerate().any(|(at, item)| {
                let schema = keywords.prefix_items.get(at).copied().or(keywords.items);
                schema.is_some_and(|schema| self.is_beyond(schema, item, false, 0))
            }),
            NodeValue::Object(entries) => entries.iter().any(|entry| {
                let schema = keywords.properties.get(&entry.key).copied();
                let schema = schema.or(keywords.additional_properties);
                schema.is_some_and(|schema| self.is_beyond(schema, &entry.value, false, 0))
            }),
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::String(_) => false,
        };
        let mut parts = keywords.all_of.iter();
        own || depth < DEEPEST
            && parts.any(|part| self.is_beyond(*part, value, is_whole, depth + 1))
    }
}

fn is_integer(types: Option<Types>) -> bool {
    types.is_some_and(|types| types.contains(Types::INTEGER) && !types.contains(Types::NUMBER))
}

/// Returns whether the type of an integer holds a value.
fn is_held(value: &Number, keywords: &Keywords, is_whole: bool) -> bool {
    if value.is_i64() {
        return true;
    }
    let minimum = keywords.minimum.as_ref().and_then(Number::as_f64);
    let maximum = keywords.maximum.as_ref();
    let is_unsigned = keywords.format.as_deref() == Some("uint64")
        || minimum.is_none_or(|low| low >= 0.0)
            && (is_whole || maximum.is_some_and(|high| high.is_u64() && !high.is_i64()));
    if value.is_u64() {
        return is_unsigned;
    }
    // Written with a fraction or an exponent, as `1e3` is, or beyond `u64`.
    value
        .as_f64()
        .is_some_and(|number| (-TWO_POW_63..TWO_POW_63).contains(&number))
}
