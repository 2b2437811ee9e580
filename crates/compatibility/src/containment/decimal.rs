//! Exact decimal numbers, and the search for a number within bounds.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

use super::outcome::Outcome;
use super::value::is_equal;

/// The maximum number of digits after the point that numbers are compared with. With more, the
/// search for a number is given up.
const MOST_DIGITS: u32 = 12;
/// The maximum number of numbers that are tried.
const MOST_TRIES: usize = 512;
/// The maximum number of zeros after a step that is tried where JSON values would round a number. With
/// more, they round these too.
const MOST_ZEROS: u32 = 22;

/// A decimal number: `digits` divided by ten to the power of `scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: i128,
    scale: u32,
}

impl Decimal {
    /// Returns the number of a document, or `None` if it has too many digits.
    pub(crate) fn parse(number: &Number) -> Option<Self> {
        if let Some(digits) = number.as_i128() {
            return Some(Self { digits, scale: 0 });
        }
        // By its digits: as a float, 0.3 is no multiple of 0.1.
        let text = number.to_string();
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let mut scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        // Without zeros at the end, equal numbers have equal fields, and 1.0 is an integer.
        while scale > 0 && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        // Zero never overflows, so `0e999999999` would keep the next loop busy.
        if digits == 0 {
            scale = 0;
        }
        while scale < 0 {
            digits = digits.checked_mul(10)?;
            scale += 1;
        }
        let scale = u32::try_from(scale).ok()?;
        (scale <= MOST_DIGITS).then_some(Self { digits, scale })
    }

    pub(crate) fn is_integer(self) -> bool {
        self.scale == 0
    }

    /// Returns the number multiplied by ten to the power of `scale`, which must be at least the
    /// number's own, or `None` if that is too large.
    fn at(self, scale: u32) -> Option<i128> {
        let factor = 10_i128.checked_pow(scale.checked_sub(self.scale)?)?;
        self.digits.checked_mul(factor)
    }

    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        let scale = self.scale.max(other.scale);
        Some(self.at(scale)?.cmp(&other.at(scale)?))
    }

    /// Returns whether the number is a multiple of another one, or `None` if that is unclear.
    pub(crate) fn is_multiple_of(self, other: Self) -> Option<bool> {
        let scale = self.scale.max(other.scale);
        let (number, step) = (self.at(scale)?, other.at(scale)?);
        (step != 0).then(|| number % step == 0)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scale == 0 {
            return write!(f, "{}", self.digits);
        }
        let sign = if self.digits < 0 { "-" } else { "" };
        let width = self.scale as usize + 1;
        let digits = format!("{:0width$}", self.digits.unsigned_abs());
        let (whole, fraction) = digits.split_at(digits.len() - self.scale as usize);
        write!(f, "{sign}{whole}.{fraction}")
    }
}

/// A bound of numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) at: Decimal,
    pub(crate) is_exclusive: bool,
}

/// What a number must fulfil.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    low: Option<Bound>,
    high: Option<Bound>,
    pub(crate) multiples: Vec<Decimal>,
    pub(crate) not_multiples: Vec<Decimal>,
    pub(crate) is_integer: bool,
    pub(crate) is_fraction: bool,
}

impl Numbers {
    /// Adds a lower bound. Keeps the old one where the two cannot be compared, and returns false.
    pub(crate) fn raise(&mut self, bound: Bound) -> bool {
        let Some(low) = self.low else {
            self.low = Some(bound);
            return true;
        };
        let order = bound.at.compare(low.at);
        if order == Some(Ordering::Greater)
            || (order == Some(Ordering::Equal) && bound.is_exclusive)
        {
            self.low = Some(bound);
        }
        order.is_some()
    }

    /// Adds an upper bound. Keeps the old one where the two cannot be compared, and returns false.
    pub(crate) fn lower(&mut self, bound: Bound) -> bool {
        let Some(high) = self.high else {
            self.high = Some(bound);
            return true;
        };
        let order = bound.at.compare(high.at);
        if order == Some(Ordering::Less) || (order == Some(Ordering::Equal) && bound.is_exclusive) {
            self.high = Some(bound);
        }
        order.is_some()
    }

    /// Returns whether no number can be within the bounds.
    pub(crate) fn is_empty(&self) -> bool {
        if self.is_integer && self.is_fraction {
            return true;
        }
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return false;
        };
        match low.at.compare(high.at) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => low.is_exclusive || high.is_exclusive,
            _ => false,
        }
    }

    pub(crate) fn accepts(&self, number: Decimal) -> Option<bool> {
        if (self.is_integer && !number.is_integer()) || (self.is_fraction && number.is_integer()) {
            return Some(false);
        }
        if let Some(low) = self.low {
            let order = number.compare(low.at)?;
            if order == Ordering::Less || (order == Ordering::Equal && low.is_exclusive) {
                return Some(false);
            }
        }
        if let Some(high) = self.high {
            let order = number.compare(high.at)?;
            if order == Ordering::Greater || (order == Ordering::Equal && high.is_exclusive) {
                return Some(false);
            }
        }
        for step in &self.multiples {
            if !number.is_multiple_of(*step)? {
                return Some(false);
            }
        }
        for step in &self.not_multiples {
            if number.is_multiple_of(*step)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Returns the number that is nearest to zero among those that fit and are not `excluded`.
    pub(crate) fn find(&self, excluded: &[Value]) -> Outcome {
        if self.is_empty() {
            return Outcome::Nothing;
        }
        let on_grid = self.is_integer || !self.multiples.is_empty();
        // An integer first, since it reads best.
        if !on_grid && !self.is_fraction {
            let integers = Self {
                is_integer: true,
                ..self.clone()
            };
            if let Some(found @ Outcome::Value(_)) = integers.search(excluded) {
                return found;
            }
        }
        self.search(excluded)
            .unwrap_or(Outcome::Unknown("numbers with too many digits"))
    }

    fn search(&self, excluded: &[Value]) -> Option<Outcome> {
        let on_grid = self.is_integer || !self.multiples.is_empty();
        let bounds = [self.low, self.high];
        let scales = bounds
            .iter()
            .flatten()
            .map(|bound| bound.at.scale)
            .chain(self.multiples.iter().map(|step| step.scale))
            .chain(self.not_multiples.iter().map(|step| step.scale));
        // With one digit more, there are numbers between two bounds that are neighbours.
        let scale = scales.max().unwrap_or(0) + u32::from(!on_grid);
        // The search counts in units of this scale, so that all of it is exact integer arithmetic.
        let one = 10_i128.checked_pow(scale)?;
        let mut step = if self.is_integer { one } else { 1 };
        for multiple in &self.multiples {
            step = least_common_multiple(step, multiple.at(scale)?)?;
        }
        if on_grid {
            for other in &self.not_multiples {
                let other = other.at(scale)?;
                // Every number of the grid is one of the unwanted multiples.
                if other != 0 && step % other == 0 {
                    return Some(Outcome::Nothing);
                }
            }
        }
        let low = self
            .low
            .map(|bound| bound.at.at(scale))
            .map_or(Some(None), |low| Some(Some(low?)))?;
        let high = self
            .high
            .map(|bound| bound.at.at(scale))
            .map_or(Some(None), |high| Some(Some(high?)))?;
        // Whether a bound is exclusive does not matter yet: `accepts` refuses the bound itself.
        let ceil = |at: i128| at.div_euclid(step) + i128::from(at.rem_euclid(step) != 0);
        let floor = |at: i128| at.div_euclid(step);
        let (first, last) = (low.map(ceil), high.map(floor));
        let start = match (first, last) {
            (Some(first), _) if first > 0 => first,
            (_, Some(last)) if last < 0 => last,
            _ => 0,
        };
        let fits =
            |at: i128| first.is_none_or(|first| at >= first) && last.is_none_or(|last| at <= last);
        let most = MOST_TRIES + excluded.len();
        for distance in 0..i128::try_from(most).ok()? {
            let mut any = false;
            let both = [start.checked_add(distance)?, start.checked_sub(distance)?];
            for at in &both[..if distance == 0 { 1 } else { 2 }] {
                if !fits(*at) {
                    continue;
                }
                any = true;
                let mut candidate = Decimal {
                    digits: at.checked_mul(step)?,
                    scale,
                };
                while candidate.scale > 0 && candidate.digits % 10 == 0 {
                    candidate.digits /= 10;
                    candidate.scale -= 1;
                }
                let value = candidate.value()?;
                if !self.accepts(candidate)? || excluded.iter().any(|other| is_equal(other, &value))
                {
                    continue;
                }
                if candidate.is_rounded() {
                    let step = if *at < 0 { -step } else { step };
                    return Some(Outcome::Value(self.round(step, scale).unwrap_or(value)));
                }
                return Some(Outcome::Value(value));
            }
            if !any {
                // Every number of the grid was tried. Between two that are not on a grid there are
                // others.
                return Some(if on_grid || (first == last && low == high) {
                    Outcome::Nothing
                } else {
                    Outcome::Unknown("a narrow range of numbers")
                });
            }
        }
        Some(Outcome::Unknown("too many numbers to try"))
    }
}

impl Numbers {
    /// Returns a large number that fits and that JSON values can hold as it is: a step with zeros
    /// after it.
    fn round(&self, step: i128, scale: u32) -> Option<Value> {
        let mut powers = (0..=MOST_ZEROS).filter_map(|zeros| {
            let digits = 10_i128.checked_pow(zeros)?.checked_mul(step)?;
            let unit = 10_i128.checked_pow(scale)?;
            // The number is large, and so has no digits after the point.
            (digits % unit == 0).then_some(Decimal {
                digits: digits / unit,
                scale: 0,
            })
        });
        let fits = |number: &Decimal| !number.is_rounded() && self.accepts(*number) == Some(true);
        powers.find(fits)?.value()
    }
}

impl Decimal {
    /// Returns whether the number is a large one that JSON values round.
    fn is_rounded(self) -> bool {
        let is_small = i64::try_from(self.digits).is_ok() || u64::try_from(self.digits).is_ok();
        if self.scale > 0 || is_small {
            return false;
        }
        let digits = self.digits.to_string();
        // Without an exponent, this is the number that the rounded one is.
        let float = digits.parse::<f64>();
        float.is_ok_and(|float| format!("{float:.0}") != digits)
    }

    fn value(self) -> Option<Value> {
        if self.scale == 0 {
            if let Ok(number) = i64::try_from(self.digits) {
                return Some(number.into());
            }
            if let Ok(number) = u64::try_from(self.digits) {
                return Some(number.into());
            }
        }
        // This may round. The validator sees the rounded number, so no wrong verdict follows.
        let float: f64 = self.to_string().parse().ok()?;
        Number::from_f64(float).map(Value::Number)
    }
}

fn least_common_multiple(one: i128, other: i128) -> Option<i128> {
    let (mut a, mut b) = (one.checked_abs()?, other.checked_abs()?);
    if a == 0 || b == 0 {
        return None;
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (one.checked_abs()? / a).checked_mul(other.checked_abs()?)
}
