//! Settings that are durations.

use std::fmt;
use std::str::FromStr;
use std::time;

use jiff::{SignedDuration, Span, SpanRelativeTo};

/// A duration such as `30s` or `1m 30s`, from `MIN_MILLIS` milliseconds to a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration<const MIN_MILLIS: u64 = 0>(time::Duration);

impl<const MIN_MILLIS: u64> Duration<MIN_MILLIS> {
    const MIN: time::Duration = time::Duration::from_millis(MIN_MILLIS);
    const MAX: time::Duration = time::Duration::from_hours(24);

    /// Returns the duration.
    #[must_use]
    pub fn get(self) -> time::Duration {
        self.0
    }
}

impl<const MIN_MILLIS: u64> FromStr for Duration<MIN_MILLIS> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed: Result<SignedDuration, _> = text.parse();
        parsed
            .ok()
            .and_then(|duration| time::Duration::try_from(duration).ok())
            .filter(|duration| (Self::MIN..=Self::MAX).contains(duration))
            .map(Self)
            .ok_or_else(|| {
                let min = if Self::MIN.is_zero() {
                    "zero".to_owned()
                } else {
                    format!("{:?}", Self::MIN)
                };
                format!("must be a duration from {min} to one day, such as 30s or 2m")
            })
    }
}

impl<const MIN_MILLIS: u64> fmt::Display for Duration<MIN_MILLIS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A duration such as `12h` or `90 days`, from a second to a hundred years of 365 days.
///
/// Unlike [`Duration`], it accepts days, which are always 24 hours long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime(SignedDuration);

impl Lifetime {
    const MIN: SignedDuration = SignedDuration::from_secs(1);
    const MAX: SignedDuration = SignedDuration::from_hours(24 * 36_500);

    /// Returns the duration.
    #[must_use]
    pub fn get(self) -> time::Duration {
        self.0.unsigned_abs()
    }

    /// Returns the duration in milliseconds.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX)
    }
}

impl FromStr for Lifetime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let span: Result<Span, _> = text.parse();
        span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()))
            .ok()
            .filter(|duration| (Self::MIN..=Self::MAX).contains(duration))
            .map(Self)
            .ok_or("must be a duration from one second to 36500 days, such as 12h or 90d")
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.0.as_hours();
        if hours % 24 == 0 && self.0 == SignedDuration::from_hours(hours) {
            write!(f, "{}d", hours / 24)
        } else {
            write!(f, "{:#}", self.0)
        }
    }
}
