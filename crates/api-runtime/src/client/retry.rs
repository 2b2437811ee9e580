//! Retries of calls that failed temporarily: off by default, and only of calls that are safe to
//! repeat.
//!
//! The loop is ours: `backon` would replace the ten lines of `backoff`, and leave `Retry-After`,
//! the deadline of the whole call and the copying of the request, which an attempt consumes.

use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::BuildHasher as _;
use std::time::Duration;

use http::{Method, StatusCode};
use reqwest::Request;
use tokio::time::{Instant, sleep};

use super::around::Attempt;
use super::retry_after::retry_after;

/// How often a failed call is repeated, and after which pauses.
///
/// A call of an idempotent method (GET, HEAD, OPTIONS, TRACE, PUT, DELETE) is repeated if its
/// connection failed or its status was 408, 429, 502, 503 or 504, and so is a call with the header
/// `Idempotency-Key`, by which the server recognises a repeat. A 409 with `Retry-After` is such a status
/// too: a server sends it while the same request is in progress. An operation that takes this header
/// gets a random key if the caller sets none. Any other call is repeated only if no connection was
/// made, so that the server cannot have run it. A call whose body is a stream is not repeated, since
/// the stream is consumed.
///
/// Each pause is twice as long as the one before, and half of it is random, unless the response has
/// `Retry-After`. A response that asks for more than the longest pause, or than what is left of the
/// call's time-out, is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retries {
    more: u32,
    first: Duration,
    longest: Duration,
}

impl Retries {
    /// Returns up to `more` further attempts, with a first pause of 200 milliseconds and a longest
    /// one of 10 seconds.
    #[must_use]
    pub fn new(more: u32) -> Self {
        Self {
            more,
            first: Duration::from_millis(200),
            longest: Duration::from_secs(10),
        }
    }

    /// Sets the pause before the first retry.
    #[must_use]
    pub fn first_pause(mut self, pause: Duration) -> Self {
        self.first = pause;
        self
    }

    /// Sets the longest pause.
    #[must_use]
    pub fn longest_pause(mut self, pause: Duration) -> Self {
        self.longest = pause;
        self
    }

    /// Sends a request, and repeats it as the settings say. The time-out of `request` is that of
    /// the whole call.
    pub(super) async fn run<F>(
        &self,
        mut request: Request,
        execute: impl Fn(Request) -> F,
    ) -> Attempt
    where
        F: Future<Output = Attempt>,
    {
        let idempotent = is_idempotent(&request);
        let deadline = request
            .timeout()
            .and_then(|timeout| Instant::now().checked_add(*timeout));
        for failed in 0.. {
            // The attempt consumes the request. One whose body is a stream cannot be copied, and is
            // not repeated.
            let again = if failed < self.more {
                request.try_clone()
            } else {
                None
            };
            // reqwest's time-out is that of one attempt, so each gets what is left of the whole
            // call's.
            if let Some(deadline) = deadline {
                *request.timeout_mut() = Some(deadline.saturating_duration_since(Instant::now()));
            }
            let result = execute(request).await;
            let Some(again) = again else { return result };
            let Some(pause) = self.pause(&result, idempotent, failed) else {
                return result;
            };
            let waited = Instant::now().checked_add(pause);
            // An attempt after the deadline could only time out; the result at hand says more.
            if deadline.is_some_and(|deadline| waited.is_none_or(|waited| waited >= deadline)) {
                return result;
            }
            sleep(pause).await;
            request = again;
        }
        unreachable!("the last attempt returns")
    }

    /// Returns the pause before the next attempt, or `None` if the call must not be repeated.
    fn pause(&self, result: &Attempt, idempotent: bool, failed: u32) -> Option<Duration> {
        // An error of the program says nothing about the next attempt.
        let result = match result {
            Ok(response) => Ok(response),
            Err(error) => Err(error.downcast_ref::<reqwest::Error>()?),
        };
        match result {
            Ok(response) if idempotent => {
                let asked = retry_after(response.headers());
                if !is_temporary(response.status(), asked) {
                    return None;
                }
                match asked {
                    Some(asked) => (asked <= self.longest).then_some(asked),
                    None => Some(self.backoff(failed)),
                }
            }
            Ok(_) => None,
            Err(error) if error.is_connect() => Some(self.backoff(failed)),
            // A time-out has used up the time of the whole call.
            Err(error) => (idempotent && error.is_request() && !error.is_timeout())
                .then(|| self.backoff(failed)),
        }
    }

    fn backoff(&self, failed: u32) -> Duration {
        let doubled = self
            .first
            .saturating_mul(1_u32.checked_shl(failed).unwrap_or(u32::MAX));
        let pause = doubled.min(self.longest);
        // Half of it is random, so that clients that failed together do not retry together.
        let chance =
            u32::try_from(RandomState::new().hash_one(failed) & 0xffff).unwrap_or_default();
        pause / 2 + (pause / 2 / 0xffff).saturating_mul(chance)
    }
}

/// The header by which a server recognises a request that is sent again (the IETF's draft
/// `httpapi-idempotency-key-header`).
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Returns a random key, in the form of a UUID (version 4).
///
/// The hashes of the standard library are keyed with randomness of the system, and 122 bits of them
/// do not repeat. They need not be secret, so this needs no further crate. A forked process has the
/// keys of its parent, but not its id.
pub(super) fn idempotency_key() -> String {
    let process = std::process::id();
    let (one, other) = (
        RandomState::new().hash_one(process),
        RandomState::new().hash_one(process),
    );
    let (version, variant) = (one & 0x0fff | 0x4000, other >> 48 & 0x3fff | 0x8000);
    format!(
        "{:08x}-{:04x}-{version:04x}-{variant:04x}-{:012x}",
        one >> 32,
        one >> 16 & 0xffff,
        other & 0xffff_ffff_ffff,
    )
}

/// Returns whether repeating a call has the effect of a single call: by its method (RFC 9110,
/// section 9.2.2), or because the server recognises the repeat by its key.
fn is_idempotent(request: &Request) -> bool {
    let has_key = request.headers().contains_key(IDEMPOTENCY_KEY);
    has_key || has_idempotent_method(request.method())
}

fn has_idempotent_method(method: &Method) -> bool {
    [
        Method::GET,
        Method::HEAD,
        Method::OPTIONS,
        Method::TRACE,
        Method::PUT,
        Method::DELETE,
    ]
    .contains(method)
        || method.as_str() == QUERY
}

/// The method that `http` has a constant for only since 1.4.
const QUERY: &str = "QUERY";

/// Returns whether a response with a status, and perhaps `Retry-After`, says that the failure is
/// temporary.
pub(super) fn is_temporary(status: StatusCode, asked: Option<Duration>) -> bool {
    match status.as_u16() {
        408 | 429 | 502 | 503 | 504 => true,
        // Without the header, a conflict stays until somebody resolves it.
        409 => asked.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use reqwest::{Response, Url};

    use super::*;

    fn request(method: Method) -> Request {
        Request::new(method, Url::parse("http://localhost/").unwrap())
    }

    fn response(status: u16, headers: &[(&str, &str)]) -> Response {
        let mut response = http::Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body("").unwrap().into()
    }

    /// Runs a call that always gets the same response. Returns when each attempt began, in
    /// milliseconds.
    async fn attempts(
        retries: &Retries,
        request: Request,
        status: u16,
        headers: &[(&str, &str)],
    ) -> Vec<u128> {
        let begun = Instant::now();
        let times = RefCell::new(Vec::new());
        let last = retries
            .run(request, |_| {
                times.borrow_mut().push(begun.elapsed().as_millis());
                let response = response(status, headers);
                async { Ok(response) }
            })
            .await;
        assert_eq!(last.unwrap().status().as_u16(), status);
        times.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_the_longest_and_half_is_chance() {
        let retries = Retries::new(5)
            .first_pause(Duration::from_millis(100))
            .longest_pause(Duration::from_millis(400));
        let times = attempts(&retries, request(Method::GET), 503, &[]).await;
        let pauses: Vec<u128> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(pauses.len(), 5);
        for (pause, longest) in pauses.iter().zip([100, 200, 400, 400, 400]) {
            assert!((longest / 2..=longest + 1).contains(pause), "{pauses:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn retry_after_is_honoured_unless_it_asks_too_much() {
        let retries = Retries::new(2);
        assert_eq!(
            attempts(&retries, request(Method::GET), 429, &[("retry-after", "3")]).await,
            [0, 3000, 6000]
        );
        assert_eq!(
            attempts(
                &retries,
                request(Method::GET),
                503,
                &[("retry-after", "11")]
            )
            .await,
            [0]
        );
        let mut short = request(Method::PUT);
        *short.timeout_mut() = Some(Duration::from_secs(5));
        assert_eq!(
            attempts(&retries, short, 503, &[("retry-after", "3")]).await,
            [0, 3000]
        );
    }

    #[test]
    fn random_keys_are_uuids_and_differ() {
        let keys: std::collections::HashSet<String> =
            (0..10_000).map(|_| idempotency_key()).collect();
        assert_eq!(keys.len(), 10_000);
        for key in keys {
            let parts: Vec<&str> = key.split('-').collect();
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{key}");
            assert!(
                parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']),
                "{key}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_is_safe_is_repeated() {
        let retries = Retries::new(1);
        for (method, status, count) in [
            (Method::GET, 503, 2),
            (Method::DELETE, 504, 2),
            (Method::GET, 500, 1),
            (Method::GET, 404, 1),
            (Method::GET, 200, 1),
            (Method::POST, 503, 1),
            (Method::PATCH, 429, 1),
        ] {
            let times = attempts(&retries, request(method.clone()), status, &[]).await;
            assert_eq!(times.len(), count, "{method} {status}");
        }
        let keyed = || {
            let mut keyed = request(Method::POST);
            let key = idempotency_key().parse().unwrap();
            keyed.headers_mut().insert(IDEMPOTENCY_KEY, key);
            keyed
        };
        assert_eq!(attempts(&retries, keyed(), 503, &[]).await.len(), 2);
        let later = [("retry-after", "1")];
        assert_eq!(attempts(&retries, keyed(), 409, &later).await, [0, 1000]);
        assert_eq!(attempts(&retries, keyed(), 409, &[]).await.len(), 1);
        let unkeyed = attempts(&retries, request(Method::POST), 409, &later);
        assert_eq!(unkeyed.await.len(), 1);
        let mut streamed = request(Method::PUT);
        let pieces = futures_util::stream::iter([Ok::<_, std::io::Error>("x")]);
        *streamed.body_mut() = Some(reqwest::Body::wrap_stream(pieces));
        assert_eq!(attempts(&retries, streamed, 503, &[]).await.len(), 1);
    }
}
