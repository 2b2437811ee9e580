//! Request ids (`x-request-id`): a caller who reports a problem names one, and the log has it too.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the id, in requests and responses.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The length of the longest id that is accepted from a caller.
const MAX_LENGTH: usize = 128;

tokio::task_local! {
    /// The id of the request that this task serves.
    static CURRENT: RequestId;
}

/// The id of a request: the caller's `x-request-id`, or a new one. Every response has it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// Creates an id from 1 to 128 letters, digits and `-_.:/+=@`.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let value = HeaderValue::from_str(name).ok()?;
        is_sane(&value).then_some(Self(value))
    }

    /// Returns the text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// Returns the id of the request whose credentials are checked or whose handler runs, or `None`
    /// outside of both, such as in a task that a handler has spawned.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Makes this the current id while a future runs.
    pub(super) fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, future)
    }

    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        headers
            .get(HEADER)
            .filter(|value| is_sane(value))
            .cloned()
            .map(Self)
    }

    pub(super) fn into_header(self) -> HeaderValue {
        self.0
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({})", self.as_str())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn is_sane(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    !bytes.is_empty()
        && bytes.len() <= MAX_LENGTH
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(byte))
}

/// Returns a generator of ids: 64 random bits of this process and a counter, in hexadecimal.
pub(super) fn generator() -> impl Fn() -> RequestId + Send + Sync + 'static {
    // Ids have to differ but not to be secret, so the seed of a hash map is random enough.
    let process = RandomState::new().build_hasher().finish();
    let count = AtomicU64::new(0);
    move || {
        let mut text = [0; 32];
        hexadecimal(process, &mut text[..16]);
        hexadecimal(count.fetch_add(1, Ordering::Relaxed), &mut text[16..]);
        RequestId(HeaderValue::from_bytes(&text).expect("hexadecimal digits are a header value"))
    }
}

fn hexadecimal(number: u64, out: &mut [u8]) {
    for (at, digit) in out.iter_mut().rev().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (4 * at) & 0xf) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_names_differ_and_are_sane() {
        let make = generator();
        let (first, second) = (make(), make());
        assert_ne!(first, second);
        assert_eq!(first.as_str().len(), 32);
        assert_eq!(RequestId::new(first.as_str()), Some(first));
    }

    #[test]
    fn strange_names_are_not_taken_over() {
        for name in ["", "a b", "a\tb", "ü", "<script>", &"x".repeat(129)] {
            assert_eq!(RequestId::new(name), None, "{name}");
        }
    }
}
