//! Dates, times and durations of RFC 3339.
//!
//! Not a library, because `jiff` and `time` read other languages than RFC 3339. `jiff` also accepts
//! a space for `T`, times without seconds, offsets without minutes and second 60 in any minute, but
//! no more than nine digits of a fraction; its durations include `-P1D` and `3 days`. `time`
//! accepts any character for `T`, and leap seconds only at the end of a month. Either would also
//! come with every crate of types, for checks that need no more of a calendar than the length of
//! months.

/// Returns whether a string is a full date, such as `2026-02-28`.
#[must_use]
pub fn date(text: &str) -> bool {
    date_of(text.as_bytes())
}

/// Returns whether a string is a time with an offset, such as `17:42:10.5Z`.
#[must_use]
pub fn time(text: &str) -> bool {
    time_of(text.as_bytes())
}

/// Returns whether a string is a date and a time with an offset, such as `2026-02-28T17:42:10Z`.
#[must_use]
pub fn date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 11
        && matches!(bytes[10], b'T' | b't')
        && date_of(&bytes[..10])
        && time_of(&bytes[11..])
}

/// Returns whether a string is a duration, such as `P3DT4H` (RFC 3339, appendix A).
#[must_use]
pub fn duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else {
        return false;
    };
    if let Some(weeks) = rest.strip_suffix('W') {
        return !weeks.is_empty() && weeks.bytes().all(|byte| byte.is_ascii_digit());
    }
    let (date, time) = match rest.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (rest, None),
    };
    let date_fits = fields(date, "YMD");
    match time {
        Some(time) => !time.is_empty() && (date.is_empty() || date_fits) && fields(time, "HMS"),
        None => !date.is_empty() && date_fits,
    }
}

/// Returns whether a string is one or more numbers, each with a unit after it. The units must be
/// successive characters of `order`.
///
/// The grammar nests the units, so `P1Y2D` is no duration: a day follows only a month.
fn fields(text: &str, order: &str) -> bool {
    let mut last: Option<usize> = None;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some(unit) = rest[digits..].chars().next() else {
            return false;
        };
        let Some(at) = order.find(unit) else {
            return false;
        };
        if digits == 0 || last.is_some_and(|last| at != last + 1) {
            return false;
        }
        last = Some(at);
        rest = &rest[digits + 1..];
    }
    last.is_some()
}

fn date_of(bytes: &[u8]) -> bool {
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let (Some(year), Some(month), Some(day)) = (
        digits(&bytes[..4]),
        digits(&bytes[5..7]),
        digits(&bytes[8..]),
    ) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn time_of(bytes: &[u8]) -> bool {
    if bytes.len() < 9 || bytes[2] != b':' || bytes[5] != b':' {
        return false;
    }
    let (Some(hour), Some(minute), Some(second)) = (
        digits(&bytes[..2]),
        digits(&bytes[3..5]),
        digits(&bytes[6..8]),
    ) else {
        return false;
    };
    let mut rest = &bytes[8..];
    if let [b'.', fraction @ ..] = rest {
        let length = fraction
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    let Some(offset) = offset_minutes(rest) else {
        return false;
    };
    if hour > 23 || minute > 59 || second > 60 {
        return false;
    }
    // A leap second is only ever the last of a day in UTC. Which days have one is not in the RFC,
    // so any may.
    second < 60
        || (i64::from(hour) * 60 + i64::from(minute) - offset).rem_euclid(24 * 60) == 23 * 60 + 59
}

fn offset_minutes(bytes: &[u8]) -> Option<i64> {
    match bytes {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let hours = digits(&[*h1, *h2])?;
            let minutes = digits(&[*m1, *m2])?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = i64::from(hours * 60 + minutes);
            Some(if *sign == b'+' { offset } else { -offset })
        }
        _ => None,
    }
}

fn digits(bytes: &[u8]) -> Option<u32> {
    bytes.iter().try_fold(0, |number: u32, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u32::from(byte - b'0'))
    })
}
