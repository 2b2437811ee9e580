//! The form of listed values (`enum` and `const`).

use std::cmp::Ordering;
use std::collections::HashSet;

use contract::model::Types;
use contract::number::compare;
use serde_json::{Number, Value};

use super::flatten::FlatSchema;
use super::form::{Form, NullableForm, Subject};
use super::integer::{integer, range};
use crate::ir::{Enumeration, TypeKind};
use crate::names;

/// Chooses the form of listed values: an enumeration of those that the other keywords accept as
/// well.
///
/// A variant for a value that is never accepted could be made but not sent. Where only the compiled
/// schema can decide, the form is any JSON with a check.
pub(super) fn enumeration(flat: &FlatSchema, subject: &Subject<'_>) -> NullableForm {
    if flat.residual || !flat.choices.is_empty() {
        return NullableForm::json(&subject.check);
    }
    let mut values = Vec::new();
    for value in flat.values.iter().flatten() {
        if values.contains(value) || !flat.types.is_none_or(|types| has_type(types, value)) {
            continue;
        }
        match satisfies_bounds(flat, value) {
            Some(true) => values.push(value.clone()),
            Some(false) => {}
            None => return NullableForm::json(&subject.check),
        }
    }
    let null = values.iter().any(Value::is_null);
    // Beside other values null is an `Option`, as in every other form; alone it is a variant.
    if null && values.len() > 1 {
        values.retain(|value| !value.is_null());
    }
    if values.is_empty() {
        return NullableForm::json(&subject.check);
    }
    let nullable = null && !values[0].is_null();
    NullableForm {
        form: Form::Item(TypeKind::Enumeration(variants_of(values, flat.extensible))),
        nullable,
    }
}

/// Returns whether the other keywords accept a listed value, or `None` if only the compiled schema
/// can decide.
fn satisfies_bounds(flat: &FlatSchema, value: &Value) -> Option<bool> {
    match value {
        Value::Null | Value::Bool(_) => Some(true),
        Value::String(text) => {
            let format = flat
                .format
                .as_deref()
                .is_some_and(crate::ir::format_is_enforced);
            // The run time has the code for patterns and formats, and the generator does not depend
            // on it.
            if flat.pattern.is_some() || format {
                return None;
            }
            let length = text.chars().count() as u64;
            Some(
                flat.min_length.is_none_or(|least| length >= least)
                    && flat.max_length.is_none_or(|most| length <= most),
            )
        }
        Value::Number(number) => satisfies_number_bounds(flat, number),
        // The parts of a list or an object are not compared with what constrains them.
        Value::Array(_) => (!flat.constrains_arrays()).then_some(true),
        Value::Object(_) => (!flat.constrains_objects()).then_some(true),
    }
}

/// Returns whether the other keywords accept a listed number, or `None` if only the compiled schema
/// can decide.
fn satisfies_number_bounds(flat: &FlatSchema, number: &Number) -> Option<bool> {
    // Whether a fraction is a multiple depends on rounding, which is left to the validator.
    if flat.multiple_of.is_some() {
        return None;
    }
    let bounds: [(_, fn(Ordering) -> bool); 4] = [
        (&flat.minimum, Ordering::is_ge),
        (&flat.maximum, Ordering::is_le),
        (&flat.exclusive_minimum, Ordering::is_gt),
        (&flat.exclusive_maximum, Ordering::is_lt),
    ];
    // A format such as `int32` rejects what its type cannot hold.
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
            within &= holds(compare(number, bound)?);
        }
    }
    Some(within)
}

/// Returns an enumeration of values, with a unique name for each.
///
/// It has a variant for unlisted values if it is `extensible` and all values are strings.
pub(super) fn variants_of(values: Vec<Value>, extensible: bool) -> Enumeration {
    let strings = values.iter().all(Value::is_string);
    let wanted: Vec<_> = values
        .iter()
        .map(|value| match value {
            Value::String(text) => (text.as_str(), names::variant(text)),
            // Their JSON would make no readable name.
            Value::Array(_) | Value::Object(_) => ("", "Variant".to_owned()),
            other => ("", names::variant(&other.to_string())),
        })
        .collect();
    let mut taken = HashSet::new();
    let names = names::unique_all(&mut taken, &wanted);
    let variants = names.into_iter().zip(values).collect();
    let unlisted = (extensible && strings).then(|| {
        // A listed value may be called so.
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

/// Returns the enumeration whose only value is null.
pub(super) fn only_null() -> TypeKind {
    TypeKind::Enumeration(variants_of(vec![Value::Null], false))
}

/// Returns whether a value has one of the types. A number without a fraction is an integer, such as
/// `1.0`.
fn has_type(types: Types, value: &Value) -> bool {
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
        // Values of lists and objects are not followed into their parts.
        Value::Array(_) => types.contains(Types::ARRAY),
        Value::Object(_) => types.contains(Types::OBJECT),
    }
}
