//! Numbers within bounds, and multiples.

use contract::format::integer_range;
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Number, Value};

use super::gather::Gathered;

/// How far from its lower end a number is chosen, where the bounds leave more room.
const SPREAD: i128 = 1000;

/// Returns an integer, or `None` if the bounds leave none.
pub(super) fn integer(gathered: &Gathered, random: &mut StdRng) -> Option<Value> {
    let Some(step) = step(gathered) else {
        return whole(gathered, 1, random);
    };
    if step.fract() == 0.0 {
        return whole(gathered, cast(step).max(1), random);
    }
    // The first multiples that are integers.
    (1..=1000)
        .find(|times| {
            let product = step * f64::from(*times);
            (product - product.round()).abs() < 1e-9
        })
        .and_then(|times| {
            whole(
                gathered,
                cast((step * f64::from(times)).round()).max(1),
                random,
            )
        })
}

/// Returns a number, or `None` if the bounds leave none.
pub(super) fn number(gathered: &Gathered, random: &mut StdRng) -> Option<Value> {
    let (low, high) = ends(gathered);
    let step = step(gathered).unwrap_or(0.0);
    if step <= 0.0 {
        if let Some(value) = whole(gathered, 1, random).filter(|_| low.is_none() || high.is_none())
        {
            return Some(value);
        }
        let low = low.unwrap_or_else(|| high.map_or(0.0, |high| high - 1000.0));
        let high = high.unwrap_or(low + 1000.0);
        // Away from both ends, which may be exclusive.
        let share: f64 = random.random_range(0.25..0.75);
        return Number::from_f64(low + (high - low) * share).map(Value::Number);
    }
    // Outwards, because the division rounds; `is_strict` drops what is beyond the bounds.
    let least = low.map(|low| (low / step).floor());
    let most = high.map(|high| (high / step).ceil());
    // A bound that is more steps away than a number can have is none.
    let (least, most) = match (
        least.filter(|it| it.is_finite()),
        most.filter(|it| it.is_finite()),
    ) {
        (Some(least), Some(most)) => (least, most),
        (Some(least), None) => (least, least + 1000.0),
        (None, Some(most)) if most < 0.0 => (most - 1000.0, most),
        (None, Some(most)) => (0.0, most),
        (None, None) => (0.0, 1000.0),
    };
    let is_strict = |value: f64| {
        let above = gathered.numbers(|keywords| &keywords.exclusive_minimum);
        let below = gathered.numbers(|keywords| &keywords.exclusive_maximum);
        above.filter_map(Number::as_f64).all(|bound| value > bound)
            && below.filter_map(Number::as_f64).all(|bound| value < bound)
            && low.is_none_or(|low| value >= low)
            && high.is_none_or(|high| value <= high)
    };
    let places = places(step);
    let room = (most - least).clamp(0.0, 1000.0);
    for _ in 0..64 {
        let times = least + random.random_range(0.0..=room).round();
        // Through a decimal text, so that 3 * 0.1 is 0.3.
        let text = format!("{:.places$}", times * step);
        let value: f64 = text.parse().ok()?;
        if is_strict(value) {
            return Number::from_f64(value).map(Value::Number);
        }
    }
    None
}

/// Returns the number of decimal places of a step.
fn places(step: f64) -> usize {
    let text = step.to_string();
    text.split_once('.').map_or(0, |(_, places)| places.len())
}

/// Returns a multiple of `step` within the bounds.
fn whole(gathered: &Gathered, step: i128, random: &mut StdRng) -> Option<Value> {
    let (mut low, mut high): (Option<i128>, Option<i128>) = (None, None);
    let mut raise = |bound: i128| low = Some(low.map_or(bound, |low: i128| low.max(bound)));
    let mut lower = |bound: i128| high = Some(high.map_or(bound, |high: i128| high.min(bound)));
    for bound in gathered.numbers(|keywords| &keywords.minimum) {
        raise(rounded(bound, f64::ceil)?);
    }
    for bound in gathered.numbers(|keywords| &keywords.maximum) {
        lower(rounded(bound, f64::floor)?);
    }
    for bound in gathered.numbers(|keywords| &keywords.exclusive_minimum) {
        // Down first: the integers above 1.5 begin at 2, as do those above 1.
        raise(rounded(bound, f64::floor)?.saturating_add(1));
    }
    for bound in gathered.numbers(|keywords| &keywords.exclusive_maximum) {
        lower(rounded(bound, f64::ceil)?.saturating_sub(1));
    }
    let formats = gathered.all.iter();
    let formats = formats.filter_map(|keywords| integer_range(keywords.format.as_deref()?));
    for (least, most) in formats {
        // Where bounds are looser than the format. An open end stays open, so that values are small.
        if low.is_some() {
            let least = rounded(&least, f64::ceil)?;
            low = low.map(|low| low.max(least));
        } else if rounded(&least, f64::ceil)? >= 0 {
            low = Some(0);
        }
        let most = rounded(&most, f64::floor)?;
        high = Some(high.map_or(most, |high| high.min(most)));
    }
    let start = low.unwrap_or_else(|| match high {
        Some(high) if high < 1 => high.saturating_sub(SPREAD),
        _ => 1,
    });
    // Rounds down below zero too, where `/` would round up.
    let first = start.div_euclid(step).saturating_mul(step);
    let first = if first < start {
        first.saturating_add(step)
    } else {
        first
    };
    let end = high.unwrap_or(i128::MAX);
    let end = end.min(first.saturating_add(SPREAD.saturating_mul(step)));
    if first > end {
        return None;
    }
    let chosen = first + random.random_range(0..=(end - first) / step) * step;
    if let Ok(number) = i64::try_from(chosen) {
        return Some(number.into());
    }
    u64::try_from(chosen).ok().map(Value::from)
}

/// Returns the closed bounds as floats.
fn ends(gathered: &Gathered) -> (Option<f64>, Option<f64>) {
    let lower = gathered
        .numbers(|keywords| &keywords.minimum)
        .chain(gathered.numbers(|keywords| &keywords.exclusive_minimum));
    let upper = gathered
        .numbers(|keywords| &keywords.maximum)
        .chain(gathered.numbers(|keywords| &keywords.exclusive_maximum));
    (
        lower.filter_map(Number::as_f64).reduce(f64::max),
        upper.filter_map(Number::as_f64).reduce(f64::min),
    )
}

/// Returns the largest step; several are left to later attempts.
fn step(gathered: &Gathered) -> Option<f64> {
    gathered
        .numbers(|keywords| &keywords.multiple_of)
        .filter_map(Number::as_f64)
        .reduce(f64::max)
}

fn rounded(number: &Number, round: fn(f64) -> f64) -> Option<i128> {
    if let Ok(integer) = number.to_string().parse() {
        return Some(integer);
    }
    number.as_f64().map(|number| cast(round(number)))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast from a float saturates"
)]
fn cast(number: f64) -> i128 {
    number as i128
}
