//! The choice of the primitive that holds the integers of a schema.

use serde_json::Number;

use super::flatten::FlatSchema;
use crate::ir::Primitive;

/// Returns the integer type of a schema.
///
/// The format decides, and not the bounds: `format: int32` with `maximum: 65535` is an `i32` and
/// not a `u16`, so that a bound that moves changes no type in the code of a caller. Without a format,
/// it is an `i64`, unless that cannot hold the maximum or the default.
pub(super) fn integer(flat: &FlatSchema) -> Primitive {
    let not_negative = flat
        .minimum
        .as_ref()
        .and_then(Number::as_f64)
        .is_some_and(|low| low >= 0.0);
    match flat.format.as_deref() {
        Some("int8") => Primitive::I8,
        Some("int16") => Primitive::I16,
        Some("int32") => Primitive::I32,
        Some("uint8") => Primitive::U8,
        Some("uint16") => Primitive::U16,
        Some("uint32") => Primitive::U32,
        Some("uint64") => Primitive::U64,
        // No standard defines `uint`, so a minimum has to confirm it.
        Some("uint") if not_negative => Primitive::U64,
        // A maximum beyond `i64::MAX` can be reached by an unsigned integer only.
        _ if flat
            .maximum
            .as_ref()
            .is_some_and(|high| high.as_i64().is_none() && high.is_u64())
            && not_negative =>
        {
            Primitive::U64
        }
        // So can such a default, as a program that rounds writes that of Kafka: 9223372036854776000.
        _ if flat.has_unsigned_default && (flat.minimum.is_none() || not_negative) => {
            Primitive::U64
        }
        _ => Primitive::I64,
    }
}

/// Returns whether a newtype over `inner` can express all bounds of an integer.
///
/// It cannot if `multipleOf` has a fraction, or if a bound lies beyond the far end of the type and
/// so excludes every value: the derive writes each bound as a literal of `inner`.
pub(super) fn is_exact(flat: &FlatSchema, inner: Primitive) -> bool {
    let (low, high) = range(inner);
    // An absent bound holds always.
    let is = |bound: &Option<Number>, holds: &dyn Fn(f64) -> bool| {
        bound.as_ref().and_then(Number::as_f64).is_none_or(holds)
    };
    is(&flat.multiple_of, &|step| {
        step.fract() == 0.0 && step < high
    }) && [&flat.minimum, &flat.exclusive_minimum]
        .iter()
        .all(|bound| is(bound, &|bound| bound < high))
        && [&flat.maximum, &flat.exclusive_maximum]
            .iter()
            .all(|bound| is(bound, &|bound| bound > low))
}

/// Returns the smallest and the largest value of an integer type. For 64 bits, these are the
/// nearest floats.
pub(super) fn range(inner: Primitive) -> (f64, f64) {
    match inner {
        Primitive::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        Primitive::I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
        Primitive::U8 => (0.0, f64::from(u8::MAX)),
        Primitive::U16 => (0.0, f64::from(u16::MAX)),
        Primitive::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        Primitive::U32 => (0.0, f64::from(u32::MAX)),
        Primitive::U64 => (0.0, TWO_POW_64),
        _ => (-TWO_POW_64 / 2.0, TWO_POW_64 / 2.0),
    }
}

/// One more than the largest `u64`, since the largest itself is not a float.
const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;
