//! The form of strings and numbers.

use serde_json::Number;

use super::flatten::FlatSchema;
use super::form::Form;
use crate::ir::{Primitive, Scalar, TypeKind, TypeRef};

/// Chooses the form of a string: `String`, `Ipv4Addr` or `Ipv6Addr` if that accepts exactly what
/// the schema does and the value is not secret, else a newtype.
pub(super) fn string(flat: &FlatSchema, check: Option<String>) -> Form {
    let lengths = flat.min_length.is_some() || flat.max_length.is_some() || flat.pattern.is_some();
    if !lengths && !flat.secret && check.is_none() {
        match flat.format.as_deref() {
            // Rust's addresses accept exactly what the formats do. Other formats have no type in
            // the standard library that does and that gives the text back as it was written.
            Some("ipv4") => return Form::Type(TypeRef::Primitive(Primitive::Ipv4Addr)),
            Some("ipv6") => return Form::Type(TypeRef::Primitive(Primitive::Ipv6Addr)),
            Some(format) if crate::ir::format_is_enforced(format) => {}
            _ => return Form::Type(TypeRef::Primitive(Primitive::String)),
        }
    }
    Form::Item(TypeKind::Scalar(scalar(Primitive::String, flat, check)))
}

/// Chooses the form of a number: the primitive if it has the schema's bounds itself and the value
/// is not secret, else a newtype.
pub(super) fn number(inner: Primitive, flat: &FlatSchema, check: Option<String>) -> Form {
    // An unsigned type says `minimum: 0` already.
    let implied_minimum = matches!(
        inner,
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64
    ) && flat
        .minimum
        .as_ref()
        .is_none_or(|minimum| minimum.as_u64() == Some(0));
    let bounded = flat.maximum.is_some()
        || flat.exclusive_minimum.is_some()
        || flat.exclusive_maximum.is_some()
        || flat.multiple_of.is_some()
        || (flat.minimum.is_some() && !implied_minimum);
    if bounded || flat.secret || check.is_some() {
        Form::Item(TypeKind::Scalar(scalar(inner, flat, check)))
    } else {
        Form::Type(TypeRef::Primitive(inner))
    }
}

/// Returns a newtype over `inner` with all constraints that the schema has for its values: a bound says
/// nothing about strings, and a length nothing about numbers.
pub(super) fn scalar(inner: Primitive, flat: &FlatSchema, check: Option<String>) -> Scalar {
    let is_text = inner == Primitive::String;
    let bound = |bound: &Option<Number>| bound.clone().filter(|_| !is_text);
    Scalar {
        inner,
        min_length: flat.min_length.filter(|_| is_text),
        max_length: flat.max_length.filter(|_| is_text),
        pattern: flat.pattern.clone().filter(|_| is_text),
        format: flat.format.clone(),
        minimum: bound(&flat.minimum),
        maximum: bound(&flat.maximum),
        exclusive_minimum: bound(&flat.exclusive_minimum),
        exclusive_maximum: bound(&flat.exclusive_maximum),
        multiple_of: bound(&flat.multiple_of),
        secret: flat.secret,
        check,
    }
}
