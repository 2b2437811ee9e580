//! Points in time, as `x-sunset` and `x-deprecation` write them.

use std::fmt;
use std::sync::LazyLock;

use jiff::SignedDuration;
use jiff::civil::{DateTime, datetime};
use regex::Regex;

/// A point in time.
///
/// It is shown as its date in UTC, such as `2030-01-31`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
// Not as jiff's `Timestamp`, which ends before 9999-12-31.
pub struct Moment(DateTime);

impl Moment {
    /// Parses a date such as `2030-01-31`, which stands for its first second in UTC, a date and
    /// time of RFC 3339, or a date of HTTP (RFC 9110) such as `Thu, 31 Jan 2030 00:00:00 GMT`.
    /// Returns `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let moment = date(text).or_else(|| time(text)).or_else(|| http(text))?;
        (moment.year() >= 0).then_some(Self(moment))
    }

    /// Returns the seconds since 1970 in UTC, as a `Deprecation` header has them (RFC 9745).
    #[must_use]
    pub fn seconds(self) -> i64 {
        let start = datetime(1970, 1, 1, 0, 0, 0, 0);
        self.0.duration_since(start).as_secs()
    }

    /// Returns the date of HTTP, as a `Sunset` header has it (RFC 8594).
    #[must_use]
    pub fn http_date(self) -> String {
        self.0.strftime(HTTP).to_string()
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.date().fmt(f)
    }
}

/// The form of a date and time (RFC 3339) in its parts: jiff also reads others.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let offset = "[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9])";
    let time = r"^([0-9-]{10}[Tt][0-9:]{8})(?:\.[0-9]+)?";
    Regex::new(&format!("{time}(?:{offset})$")).expect("it is a pattern")
});

/// The form of a date of HTTP, as `strftime` writes it.
const HTTP: &str = "%a, %d %b %Y %H:%M:%S GMT";

fn date(text: &str) -> Option<DateTime> {
    let date: jiff::civil::Date = text.parse().ok()?;
    // jiff also reads dates without hyphens, and dates with times.
    (date.to_string() == text).then(|| date.at(0, 0, 0, 0))
}

fn time(text: &str) -> Option<DateTime> {
    let parts = TIME.captures(text)?;
    let local: DateTime = parts[1].parse().ok()?;
    let part = |at: usize| parts.get(at).map_or("", |part| part.as_str());
    let number = |at: usize| part(at).parse().unwrap_or(0_i64);
    let ahead = SignedDuration::from_mins(number(3) * 60 + number(4));
    if part(2) == "-" {
        local.checked_add(ahead).ok()
    } else {
        local.checked_sub(ahead).ok()
    }
}

fn http(text: &str) -> Option<DateTime> {
    let moment = DateTime::strptime(HTTP, text).ok()?;
    (moment.strftime(HTTP).to_string() == text).then_some(moment)
}
