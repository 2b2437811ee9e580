//! How often a request is expected.

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// How often a request is expected: a number, or a range such as `1..` or `2..=3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    least: usize,
    most: usize,
}

impl Times {
    /// Any number of times, which is what an expectation says by itself.
    pub const ANY: Self = Self::new(0, usize::MAX);
    /// No time.
    pub const NEVER: Self = Self::new(0, 0);
    /// One time, which is what an expectation of a sequence says by itself.
    pub const ONCE: Self = Self::new(1, 1);

    const fn new(least: usize, most: usize) -> Self {
        Self { least, most }
    }

    /// Returns these times, but one at most.
    pub(super) fn at_most_once(self) -> Self {
        Self::new(self.least.min(1), self.most.min(1))
    }

    /// Returns whether a number is among these.
    pub(super) fn has(self, number: usize) -> bool {
        self.is_enough(number) && number <= self.most
    }

    /// Returns whether a number is not too small.
    pub(super) fn is_enough(self, number: usize) -> bool {
        number >= self.least
    }

    /// Returns whether one more than a number is allowed.
    pub(super) fn has_room(self, number: usize) -> bool {
        number < self.most
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (0, 0) => f.write_str("never"),
            (0, usize::MAX) => f.write_str("any number of times"),
            (1, 1) => f.write_str("once"),
            (least, usize::MAX) => write!(f, "at least {}", counted(least)),
            (0, most) => write!(f, "at most {}", counted(most)),
            (least, most) if least == most => f.write_str(&counted(least)),
            (least, most) => write!(f, "{least} to {}", counted(most)),
        }
    }
}

/// Returns a number of times in words.
pub(super) fn counted(number: usize) -> String {
    match number {
        1 => "once".to_owned(),
        _ => format!("{number} times"),
    }
}

impl From<usize> for Times {
    fn from(number: usize) -> Self {
        Self::new(number, number)
    }
}

impl From<RangeInclusive<usize>> for Times {
    fn from(range: RangeInclusive<usize>) -> Self {
        Self::new(*range.start(), *range.end())
    }
}

impl From<Range<usize>> for Times {
    fn from(range: Range<usize>) -> Self {
        Self::new(range.start, range.end.saturating_sub(1))
    }
}

impl From<RangeFrom<usize>> for Times {
    fn from(range: RangeFrom<usize>) -> Self {
        Self::new(range.start, usize::MAX)
    }
}

impl From<RangeTo<usize>> for Times {
    fn from(range: RangeTo<usize>) -> Self {
        Self::new(0, range.end.saturating_sub(1))
    }
}

impl From<RangeToInclusive<usize>> for Times {
    fn from(range: RangeToInclusive<usize>) -> Self {
        Self::new(0, range.end)
    }
}

impl From<RangeFull> for Times {
    fn from(_: RangeFull) -> Self {
        Self::ANY
    }
}
