//! The limit of requests that a 429 tells its caller, as the IETF draft
//! `draft-ietf-httpapi-ratelimit-headers` writes it.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header with what is left of the limit.
pub(super) const LIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// The header with the limit itself.
pub(super) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// A limit of requests that a caller has used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The time until a request is possible again.
    pub wait: Duration,
    /// The limit itself, which the headers `RateLimit` and `RateLimit-Policy` describe. Without it,
    /// the response has `Retry-After` only.
    pub policy: Option<RatePolicy>,
}

/// The number of requests that a limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePolicy {
    /// The number of requests in each window.
    pub quota: u32,
    /// The length of a window.
    pub window: Duration,
}

impl RateLimit {
    /// Adds the headers `RateLimit` and `RateLimit-Policy`, if the policy is known.
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        let Some(RatePolicy { quota, window }) = self.policy else {
            return;
        };
        let policy = format!("\"default\";q={quota};w={}", seconds(window));
        let limit = format!("\"default\";r=0;t={}", seconds(self.wait));
        for (name, text) in [(POLICY, policy), (LIMIT, limit)] {
            let value = HeaderValue::try_from(text).expect("digits are a header value");
            headers.insert(name, value);
        }
    }
}

/// Returns a time in whole seconds, rounded up and at least one: a caller that comes back too early
/// is rejected again.
pub(super) fn seconds(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}
