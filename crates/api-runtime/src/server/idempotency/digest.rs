//! Hashes of what belongs together, so that stores see neither credentials nor bodies.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, header};
use sha2::{Digest as _, Sha256};

use super::super::operation::{Location, Operation};
use super::{KEY, KeyedRequest};

/// Headers that differ between a request and its repeat, or that are conditions, which a repeat does
/// not depend on: its response is that to the first request.
const OF_ONE_ATTEMPT: [&str; 10] = [
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "traceparent",
    "tracestate",
    "x-request-id",
    "authorization",
    "cookie",
];

/// The hash of a sequence of parts: two sequences with the same hash have the same parts.
#[derive(Clone)]
pub(super) struct Digest(Sha256);

impl Digest {
    /// Begins a hash. Those of different `purpose` never agree.
    pub(super) fn new(purpose: &str) -> Self {
        Self(Sha256::new()).and(purpose.as_bytes())
    }

    /// Adds a part.
    pub(super) fn and(mut self, part: &[u8]) -> Self {
        self.add(part);
        self
    }

    /// Adds a part.
    pub(super) fn add(&mut self, part: &[u8]) {
        // With the length, so that no byte can move to the next part.
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    pub(super) fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The caller of a request.
pub(super) struct Caller {
    pub scope: [u8; 32],
    /// Whether credentials of the caller were checked.
    pub is_known: bool,
}

/// Returns the hashes of a request of a caller.
pub(super) fn keyed(
    Caller { scope, is_known }: Caller,
    operation: &Operation,
    parts: &Parts,
    body: &Bytes,
) -> KeyedRequest {
    let mut id = Digest::new("key").and(&scope).and(operation.id.as_bytes());
    add_lines(&mut id, parts, &KEY);
    let target = parts.uri.path_and_query();
    let target = target.map_or("", |target| target.as_str());
    let mut digest = Digest::new("request")
        .and(parts.method.as_str().as_bytes())
        .and(target.as_bytes());
    add_lines(&mut digest, parts, &header::CONTENT_TYPE);
    let declared = operation.parameters.iter();
    let declared = declared.filter(|parameter| parameter.location == Location::Header);
    for name in declared.filter_map(|parameter| parameter.name.parse::<HeaderName>().ok()) {
        if !OF_ONE_ATTEMPT.contains(&name.as_str()) {
            add_lines(&mut digest, parts, &name);
        }
    }
    KeyedRequest {
        scope,
        is_known,
        id: id.end(),
        digest: digest.and(body).end(),
    }
}

/// Adds all lines of a header, and how many there are.
fn add_lines(digest: &mut Digest, parts: &Parts, name: &HeaderName) {
    let lines = parts.headers.get_all(name);
    digest.add(&(lines.iter().count() as u64).to_be_bytes());
    for line in lines {
        digest.add(line.as_bytes());
    }
}
