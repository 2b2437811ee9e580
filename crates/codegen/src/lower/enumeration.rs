//! Fixed sets of values.

use std::cmp::Ordering;
use std::collections::HashSet;

use contract::model::Types;
use serde_json::{Number, Value};

use super::flatten::Flat;
use super::form::{Form, Shape, Subject};
use super::integer::{integer, range};
use crate::ir::{Enumeration, TypeKind};
use crate::names;

pub(super) fn enumeration(flat: &Flat, subject: &Subject<'_>) -> Form {
    if flat.residual || !flat.choices.is_empty() {
        return Form::json(&subject.check);
    }
    let mut values = Vec::new();
    for value in flat.values.iter().flatten() {
        if values.contains(value) || !flat.types.is_none_or(|types| accepts(types, value)) {
            continue;
        }
        match is_within(flat, value) {
            Some(true) => values.push(value.clone()),
            Some(false) => {}
            None => return Form::json(&subject.check),
        }
    }
    let null = values.iter().any(Value::is_null);
    if null && values.len() > 1 {
        values.retain(|value| !value.is_null());
    }
    if values.is_empty() {
        return Form::json(&subject.check);
    }
    let nullable = null && !values[0].is_null();
    Form {
        shape: Shape::Item(TypeKind::Enumeration(variants_of(values, flat.extensible))),
        nullable,
    }
}

/// Whether a listed value is one that the other keywords accept too; none if only the compiled schema can say.
fn is_within(flat: &Flat, value: &Value) -> Option<bool> {
    match value {
        Value::Null | Value::Bool(_) => Some(true),
        Value::String(text) => {
            let format = flat
                .format
                .as_deref()
                .is_some_and(crate::ir::format_is_enforced);
            if flat.pattern.is_some() || format {
                return None;
            }
            let length = text.chars().count() as u64;
            Some(
                flat.min_length.is_none_or(|least| length >= least)
                    && flat.max_length.is_none_or(|most| length <= most),
            )
        }
        Value::Number(number) => {
            if flat.multiple_of.is_some() {
                return None;
            }
            let bounds: [(_, fn(Ordering) -> bool); 4] = [
                (&flat.minimum, Ordering::is_ge),
                (&flat.maximum, Ordering::is_le),
                (&flat.exclusive_minimum, Ordering::is_gt),
                (&flat.exclusive_maximum, Ordering::is_lt),
            ];
            let has_width = flat.types == Some(Types::INTEGER)
                && matches!(
                    flat.format.as_deref(),
                    Some("int8" | "int16" | "int32" | "uint8" | "uint16" | "uint32")
                );
            let (low, high) = range(integer(flat));
            let mut within = !has_width
                || number
                    .as_f64()
                    .is_some_and(|number| (low..=high).contains(&number));
            for (bound, holds) in bounds {
                if let Some(bound) = bound {
                    within &= holds(compared(number, bound)?);
                }
            }
            Some(within)
        }
        Value::Array(_) => (!flat.speaks_of_arrays()).then_some(true),
        Value::Object(_) => (!flat.speaks_of_objects()).then_some(true),
    }
}

/// Two numbers in order: exactly if both are integers, else as floats.
fn compared(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// An enumeration with a name for each value.
pub(super) fn variants_of(values: Vec<Value>, extensible: bool) -> Enumeration {
    let strings = values.iter().all(Value::is_string);
    let wanted: Vec<_> = values
        .iter()
        .map(|value| match value {
            Value::String(text) => (text.as_str(), names::variant(text)),
            Value::Array(_) | Value::Object(_) => ("", "Variant".to_owned()),
            other => ("", names::variant(&other.to_string())),
        })
        .collect();
    let mut taken = HashSet::new();
    let names = names::unique_all(&mut taken, &wanted);
    let variants = names.into_iter().zip(values).collect();
    let unlisted = (extensible && strings).then(|| {
        if taken.contains("Unlisted") {
            names::unique(&mut taken, "UnlistedValue".to_owned())
        } else {
            "Unlisted".to_owned()
        }
    });
    Enumeration {
        variants,
        strings,
        unlisted,
    }
}

pub(super) fn only_null() -> TypeKind {
    TypeKind::Enumeration(variants_of(vec![Value::Null], false))
}

/// Whether a value is of one of the types.
fn accepts(types: Types, value: &Value) -> bool {
    match value {
        Value::Null => types.contains(Types::NULL),
        Value::Bool(_) => types.contains(Types::BOOLEAN),
        Value::Number(number) => {
            types.contains(Types::NUMBER)
                || (types.contains(Types::INTEGER)
                    && (number.is_i64()
                        || number.is_u64()
                        || number.as_f64().is_some_and(|n| n.fract() == 0.0)))
        }
        Value::String(_) => types.contains(Types::STRING),
        Value::Array(_) => types.contains(Types::ARRAY),
        Value::Object(_) => types.contains(Types::OBJECT),
    }
}
