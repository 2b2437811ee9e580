//! `Retry-After`, in both of its forms (RFC 9110, 10.2.3).

use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// How long an answer asks to wait.
///
/// A date counts from the answer's own `Date`, so that neither side's clock has to be right; without one it is
/// ignored, and so is what cannot be read.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = http_date(text)?;
    let now = http_date(headers.get(DATE)?.to_str().ok()?.trim())?;
    Some(Duration::from_secs(then.saturating_sub(now)))
}

/// Seconds since 1970 of an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// The two obsolete forms are not sent by anyone any more.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, rest) = text.split_once(", ")?;
    let words: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, time, "GMT"] = words[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let mut clock = time.split(':').map(str::parse::<u64>);
    let (hour, minute, second) = (
        clock.next()?.ok()?,
        clock.next()?.ok()?,
        clock.next()?.ok()?,
    );
    if !(1970..=9999).contains(&year)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days from 1970 to a date of the Gregorian calendar; years begin in March, so that the leap day is a year's last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 306 + 5) / 10 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_since_1970() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(
            http_date("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(784_111_777)
        );
        assert_eq!(
            http_date("Thu, 29 Feb 2024 12:00:00 GMT"),
            Some(1_709_208_000)
        );
        for wrong in [
            "",
            "Sunday",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "x, 1 Jan 0 0:0:0 GMT",
        ] {
            assert_eq!(http_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_date_counts_from_the_answers_own_date() {
        let headers = |pairs: &[(&'static str, &str)]| -> HeaderMap {
            pairs
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect()
        };
        let then = ("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT");
        let now = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(
            retry_after(&headers(&[then, now])),
            Some(Duration::from_secs(3))
        );
        assert_eq!(retry_after(&headers(&[then])), None);
        assert_eq!(
            retry_after(&headers(&[("retry-after", "7")])),
            Some(Duration::from_secs(7))
        );
        assert_eq!(retry_after(&headers(&[("retry-after", "-7")])), None);
    }
}
