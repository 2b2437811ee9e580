//! Numbers and other values without parts, as types of the standard library read them.

use std::net::{Ipv4Addr, Ipv6Addr};

use api_runtime::__private::Bounds;
use api_runtime::Wire;
use codegen::ir::{Primitive, Scalar};
use serde::de::{Deserializer, Error};
use serde_json::{Number, Value};

/// Decodes a value of a type of the standard library.
pub(super) fn primitive<'de, D: Deserializer<'de>>(
    primitive: Primitive,
    deserializer: D,
) -> Result<Value, D::Error> {
    match primitive {
        Primitive::Bool => json::<bool, D>(deserializer),
        Primitive::I8 => json::<i8, D>(deserializer),
        Primitive::I16 => json::<i16, D>(deserializer),
        Primitive::I32 => json::<i32, D>(deserializer),
        Primitive::I64 => json::<i64, D>(deserializer),
        Primitive::U8 => json::<u8, D>(deserializer),
        Primitive::U16 => json::<u16, D>(deserializer),
        Primitive::U32 => json::<u32, D>(deserializer),
        Primitive::U64 => json::<u64, D>(deserializer),
        Primitive::F32 => json::<f32, D>(deserializer),
        Primitive::F64 => json::<f64, D>(deserializer),
        Primitive::String => json::<String, D>(deserializer),
        Primitive::Ipv4Addr => json::<Ipv4Addr, D>(deserializer),
        Primitive::Ipv6Addr => json::<Ipv6Addr, D>(deserializer),
    }
}

fn json<'de, T: Wire, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let value = T::decode(deserializer)?;
    serde_json::to_value(&value).map_err(D::Error::custom)
}

macro_rules! integer {
    ($integer:ty, $scalar:expr, $deserializer:expr) => {{
        let value = <$integer>::decode($deserializer)?;
        let bound = |is_upward: bool, number: &Option<Number>| {
            let (low, high) = (<$integer>::MIN.into(), <$integer>::MAX.into());
            let bound = whole(is_upward, number.as_ref()?)?;
            // A bound beyond the type says nothing, or only the end of the range is within it.
            let says_nothing = if is_upward { bound < low } else { bound > high };
            <$integer>::try_from(bound.clamp(low, high))
                .ok()
                .filter(|_| !says_nothing)
        };
        let exclusive = |is_lower: bool, number: &Option<Number>| {
            let (low, high): (i128, i128) = (<$integer>::MIN.into(), <$integer>::MAX.into());
            // Rounded the other way: `> 0.5` is `> 0`.
            let bound = whole(!is_lower, number.as_ref()?)?;
            let says_nothing = if is_lower { bound < low } else { bound > high };
            <$integer>::try_from(bound.clamp(low, high))
                .ok()
                .filter(|_| !says_nothing)
        };
        let step = |number: &Option<Number>| {
            let step = exact(number.as_ref()?)?;
            let (low, high) = (<$integer>::MIN.into(), <$integer>::MAX.into());
            <$integer>::try_from(step.clamp(low, high)).ok()
        };
        Bounds::<$integer> {
            minimum: bound(true, &$scalar.minimum),
            maximum: bound(false, &$scalar.maximum),
            exclusive_minimum: exclusive(true, &$scalar.exclusive_minimum),
            exclusive_maximum: exclusive(false, &$scalar.exclusive_maximum),
            multiple_of: step(&$scalar.multiple_of),
        }
        .check(value)
        .map_err(D::Error::custom)?;
        Ok(Value::from(value))
    }};
}

macro_rules! float {
    ($float:ty, $scalar:expr, $deserializer:expr) => {{
        let value = <$float>::decode($deserializer)?;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a bound rounds as a value does"
        )]
        let bound =
            |number: &Option<Number>| number.as_ref()?.as_f64().map(|bound| bound as $float);
        Bounds::<$float> {
            minimum: bound(&$scalar.minimum),
            maximum: bound(&$scalar.maximum),
            exclusive_minimum: bound(&$scalar.exclusive_minimum),
            exclusive_maximum: bound(&$scalar.exclusive_maximum),
            multiple_of: bound(&$scalar.multiple_of),
        }
        .check(value)
        .map_err(D::Error::custom)?;
        serde_json::to_value(value).map_err(D::Error::custom)
    }};
}

/// Decodes a number, and checks its bounds.
pub(super) fn scalar<'de, D: Deserializer<'de>>(
    scalar: &Scalar,
    deserializer: D,
) -> Result<Value, D::Error> {
    match scalar.inner {
        Primitive::I8 => integer!(i8, scalar, deserializer),
        Primitive::I16 => integer!(i16, scalar, deserializer),
        Primitive::I32 => integer!(i32, scalar, deserializer),
        Primitive::I64 => integer!(i64, scalar, deserializer),
        Primitive::U8 => integer!(u8, scalar, deserializer),
        Primitive::U16 => integer!(u16, scalar, deserializer),
        Primitive::U32 => integer!(u32, scalar, deserializer),
        Primitive::U64 => integer!(u64, scalar, deserializer),
        Primitive::F32 => float!(f32, scalar, deserializer),
        Primitive::F64 => float!(f64, scalar, deserializer),
        Primitive::Bool | Primitive::String | Primitive::Ipv4Addr | Primitive::Ipv6Addr => {
            primitive(scalar.inner, deserializer)
        }
    }
}

/// Returns a number as an integer, rounded up if `is_upward` and down otherwise. One beyond `i128`
/// becomes its nearest value.
fn whole(is_upward: bool, number: &Number) -> Option<i128> {
    if let Ok(integer) = number.to_string().parse() {
        return Some(integer);
    }
    let fraction = number.as_f64()?;
    let integer = if is_upward {
        fraction.ceil()
    } else {
        fraction.floor()
    };
    Some(cast(integer))
}

/// Returns a number as an integer, or `None` if it has a fraction.
fn exact(number: &Number) -> Option<i128> {
    if let Ok(integer) = number.to_string().parse() {
        return Some(integer);
    }
    let fraction = number.as_f64()?;
    (fraction.fract() == 0.0).then(|| cast(fraction))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast from a float saturates"
)]
fn cast(number: f64) -> i128 {
    number as i128
}
