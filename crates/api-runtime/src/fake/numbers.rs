//! Numbers within bounds, and multiples.

use proptest::strategy::{BoxedStrategy, Just, Strategy as _, Union};
use serde_json::{Map, Number, Value};

/// How far from zero, or from the bound that is nearest to it, most numbers are.
const NEAR: i128 = 100;
/// The largest number that is made where a float has no bound.
const LARGE: f64 = 1e9;
/// The largest number that is made at all.
const LARGEST: f64 = 1e300;

/// Returns a strategy for integers.
pub(super) fn integer(keywords: &Map<String, Value>) -> BoxedStrategy<Value> {
    let at = |name: &str, round: fn(f64) -> f64| bound(keywords, name).map(|it| cast(round(it)));
    let lows = [
        at("minimum", f64::ceil),
        at("exclusiveMinimum", |it| it.floor() + 1.0),
    ];
    let highs = [
        at("maximum", f64::floor),
        at("exclusiveMaximum", |it| it.ceil() - 1.0),
    ];
    let (low, high) = range(keywords);
    let low = lows.into_iter().flatten().fold(low, i128::max);
    let high = highs.into_iter().flatten().fold(high, i128::min);
    let step = bound(keywords, "multipleOf").map_or(1, whole_step);
    let (first, last) = (div_up(low, step), high.div_euclid(step));
    if first > last {
        return Just(Value::Null).boxed();
    }
    // Values shrink towards the first alternative, and in it towards its start.
    let start = 0.clamp(first, last);
    let near = start..=start.saturating_add(NEAR).min(last);
    Union::new([near, first..=last])
        .prop_map(move |times| json(times.saturating_mul(step)))
        .boxed()
}

/// Returns a strategy for numbers.
pub(super) fn number(keywords: &Map<String, Value>) -> BoxedStrategy<Value> {
    let lows = ["minimum", "exclusiveMinimum"].map(|name| bound(keywords, name));
    let highs = ["maximum", "exclusiveMaximum"].map(|name| bound(keywords, name));
    let low = lows.into_iter().flatten().reduce(f64::max);
    let high = highs.into_iter().flatten().reduce(f64::min);
    let least = low.unwrap_or_else(|| high.map_or(-LARGE, |high| high.min(0.0) - LARGE));
    let most = high.unwrap_or_else(|| least.max(0.0) + LARGE);
    // The difference of the ends must be a number too.
    let (least, most) = (least.max(-LARGEST), most.min(LARGEST));
    if least > most {
        return Just(Value::Null).boxed();
    }
    if let Some(step) = bound(keywords, "multipleOf").filter(|step| *step > 0.0) {
        return multiples(least, most, step);
    }
    let start = 0.0_f64.clamp(least, most);
    #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
    let near = start..=(start + NEAR as f64).min(most);
    Union::new([near, least..=most]).prop_map(float).boxed()
}

/// Returns a strategy for the multiples of a step between two numbers.
fn multiples(least: f64, most: f64, step: f64) -> BoxedStrategy<Value> {
    let text = step.to_string();
    let places = text.split_once('.').map_or(0, |(_, places)| places.len());
    let (first, last) = (cast((least / step).ceil()), cast((most / step).floor()));
    if first > last {
        return Just(Value::Null).boxed();
    }
    let start = 0.clamp(first, last);
    let near = start..=start.saturating_add(NEAR).min(last);
    Union::new([near, first..=last])
        .prop_map(move |times| {
            // Through a decimal text, so that 3 * 0.1 is 0.3.
            #[expect(
                clippy::cast_precision_loss,
                reason = "the text has the digits of the step"
            )]
            let product = times as f64 * step;
            float(format!("{product:.places$}").parse().unwrap_or(product))
        })
        .boxed()
}

/// Returns the range of an integer's format, which is that of its Rust type.
fn range(keywords: &Map<String, Value>) -> (i128, i128) {
    match keywords.get("format").and_then(Value::as_str) {
        Some("int8") => (i8::MIN.into(), i8::MAX.into()),
        Some("int16") => (i16::MIN.into(), i16::MAX.into()),
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        Some("uint8") => (0, u8::MAX.into()),
        Some("uint16") => (0, u16::MAX.into()),
        Some("uint32") => (0, u32::MAX.into()),
        Some("uint64") => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

fn bound(keywords: &Map<String, Value>, name: &str) -> Option<f64> {
    keywords.get(name)?.as_f64()
}

/// Returns the smallest integer that is a multiple of a step.
fn whole_step(step: f64) -> i128 {
    let product = |times: &u32| step * f64::from(*times);
    // With some tolerance, because the float of a step such as 0.1 is not exactly a tenth.
    let is_whole = |times: &u32| (product(times) - product(times).round()).abs() < 1e-9;
    let times = (1..=1000).find(is_whole).unwrap_or(1);
    cast(product(&times).round()).max(1)
}

fn div_up(number: i128, step: i128) -> i128 {
    -(-number).div_euclid(step)
}

fn json(number: i128) -> Value {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => Value::Null,
    }
}

fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast from a float saturates"
)]
fn cast(number: f64) -> i128 {
    number as i128
}
