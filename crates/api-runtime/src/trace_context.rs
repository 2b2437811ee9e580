//! Trace contexts: the headers `traceparent` and `tracestate` (W3C Trace Context), by which the
//! spans of several programs become one trace.
//!
//! The headers are read and written here, without a crate of OpenTelemetry: its crates have a new
//! incompatible version every few months, and generated crates would force theirs on each program.

use std::fmt;
use std::str;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the ids and flags.
const PARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header of what tracing systems add.
const STATE: HeaderName = HeaderName::from_static("tracestate");

/// The length of `traceparent` in version 00. A later version can only append to it.
const PARENT_LENGTH: usize = 55;
/// The flags that are defined: sampled, and random trace id. Others must be sent as zero.
const FLAGS: u8 = 0b11;
const SAMPLED: u8 = 0b01;

/// The length of the longest `tracestate` that is read, in characters: what the recommendation asks
/// everyone to propagate.
const MAX_STATE_LENGTH: usize = 512;
/// The maximum number of members of `tracestate`.
const MAX_STATE_MEMBERS: usize = 32;
/// The length of the longest key and of the longest value in `tracestate`.
const MAX_MEMBER_LENGTH: usize = 256;

/// The place of a span in a trace, as one program tells it to the next: the ids of the trace and of
/// the span, the flags, and the state of tracing systems.
///
/// The ids are numbers, which is what tracing libraries make theirs from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    flags: u8,
    state: String,
}

impl TraceContext {
    /// Creates the context of a span. Returns `None` if an id is zero, which stands for no id.
    ///
    /// Of `flags`, only `1` (sampled) and `2` (random trace id) are kept.
    #[must_use]
    pub fn new(trace_id: u128, span_id: u64, flags: u8) -> Option<Self> {
        (trace_id != 0 && span_id != 0).then_some(Self {
            trace_id,
            span_id,
            flags: flags & FLAGS,
            state: String::new(),
        })
    }

    /// Sets the state, as in `tracestate`. One that is invalid or too large is left out: a trace
    /// does not need it.
    #[must_use]
    pub fn with_state(mut self, state: &str) -> Self {
        self.state = if is_state(state) {
            state.to_owned()
        } else {
            String::new()
        };
        self
    }

    /// Reads the context from the headers of a request. Returns `None` if there is no valid
    /// `traceparent`, or more than one.
    ///
    /// An invalid `tracestate`, one of more than 512 characters and one of more than 32 members are
    /// left out.
    #[must_use]
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all(PARENT).iter();
        let (Some(parent), None) = (parents.next(), parents.next()) else {
            return None;
        };
        let context = parse(parent.as_bytes())?;
        let mut state = String::new();
        for value in headers.get_all(STATE) {
            let Ok(value) = value.to_str() else {
                return Some(context);
            };
            if !state.is_empty() {
                state.push(',');
            }
            state.push_str(value);
            if state.len() > MAX_STATE_LENGTH {
                return Some(context);
            }
        }
        Some(context.with_state(&state))
    }

    /// Writes the context into the headers of a request, unless they have one of the two already.
    pub fn write(&self, headers: &mut HeaderMap) {
        if headers.contains_key(PARENT) || headers.contains_key(STATE) {
            return;
        }
        if let Ok(parent) = HeaderValue::from_str(&self.to_string()) {
            headers.insert(PARENT, parent);
        }
        if !self.state.is_empty()
            && let Ok(state) = HeaderValue::from_str(&self.state)
        {
            headers.insert(STATE, state);
        }
    }

    /// Returns the id of the trace.
    #[must_use]
    pub fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// Returns the id of the span.
    #[must_use]
    pub fn span_id(&self) -> u64 {
        self.span_id
    }

    /// Returns the flags: `1` if the trace is sampled, plus `2` if its id is random.
    #[must_use]
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns whether the trace is sampled: its spans are recorded, not only passed on.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// Returns the state, as in `tracestate`. Empty if there is none.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }
}

/// Writes the context as in `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            span_id,
            flags,
            ..
        } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

/// Parses a `traceparent`: a version, the id of the trace, the id of the span and flags, with
/// hyphens between.
fn parse(parent: &[u8]) -> Option<TraceContext> {
    let (known, rest) = parent.split_at_checked(PARENT_LENGTH)?;
    let is_separated = [2, 35, 52].iter().all(|at| known[*at] == b'-');
    let version = hexadecimal(&known[..2])?;
    let is_complete = match version {
        0 => rest.is_empty(),
        0xff => false,
        _ => rest.is_empty() || rest[0] == b'-',
    };
    if !is_separated || !is_complete {
        return None;
    }
    let span_id = u64::try_from(hexadecimal(&known[36..52])?).ok()?;
    let flags = u8::try_from(hexadecimal(&known[53..])?).ok()?;
    TraceContext::new(hexadecimal(&known[3..35])?, span_id, flags)
}

/// Parses digits, which must be in lower case.
fn hexadecimal(digits: &[u8]) -> Option<u128> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = digits.iter().all(is_digit).then_some(digits)?;
    u128::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// Returns whether a text is a `tracestate` within the bounds: members `key=value` between commas,
/// each key once.
fn is_state(state: &str) -> bool {
    if state.len() > MAX_STATE_LENGTH {
        return false;
    }
    let mut keys = Vec::new();
    for member in state.split(',') {
        let member = member.trim_matches([' ', '\t']);
        // The recommendation allows empty members.
        if member.is_empty() {
            continue;
        }
        let Some((key, value)) = member.split_once('=') else {
            return false;
        };
        if !is_key(key) || !is_value(value) || keys.contains(&key) {
            return false;
        }
        keys.push(key);
    }
    keys.len() <= MAX_STATE_MEMBERS
}

fn is_key(key: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    key.len() <= MAX_MEMBER_LENGTH
        && key.bytes().next().is_some_and(is_first)
        && key
            .bytes()
            .all(|byte| is_first(byte) || b"_-*/@".contains(&byte))
}

fn is_value(value: &str) -> bool {
    (1..=MAX_MEMBER_LENGTH).contains(&value.len())
        && value
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~') && byte != b'=')
}
