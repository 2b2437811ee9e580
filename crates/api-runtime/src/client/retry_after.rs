//! `Retry-After`, in both of its forms (RFC 9110, section 10.2.3).

use std::time::Duration;

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderName};

/// Returns the pause that the header `Retry-After` of a response asks for. Returns `None` if the
/// response has no such header, or an invalid one.
///
/// A date counts from the `Date` of the response, so that it needs no correct clock on either side.
/// Without `Date` it is ignored.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| Some(headers.get(name)?.to_str().ok()?.trim());
    let after = text(RETRY_AFTER)?;
    if let Ok(seconds) = after.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = httpdate::parse_http_date(after).ok()?;
    let now = httpdate::parse_http_date(text(DATE)?).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_counts_from_the_responses_own_date() {
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
        for wrong in ["-7", "Sunday", "Sun, 06 Foo 1994 08:49:37 GMT"] {
            let headers = headers(&[("retry-after", wrong), now]);
            assert_eq!(retry_after(&headers), None, "{wrong}");
        }
        // A date that has passed asks for no pause.
        let passed = ("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT");
        assert_eq!(retry_after(&headers(&[passed, now])), Some(Duration::ZERO));
    }
}
