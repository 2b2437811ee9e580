//! Functions that select the variant of a union without a discriminator. Expansions of the `Union`
//! derive call them.
//!
//! Lenient mode tries every alternative strictly first. Otherwise a response that fits one
//! alternative exactly could become ambiguous, because lenient decoding lets other alternatives
//! drop the properties that they do not know.
//!
//! A value is read once for each alternative, and so are the unions within it: each level of nested
//! alternatives multiplies the work. So the work that a document may cause is limited, by its size.

use std::cell::Cell;

use serde::de::Error;
use serde_json::Value;

use crate::Wire;
use crate::mode::{is_lenient, strict};
use crate::place;
use crate::wire::Encoded;

/// The message for a value that no alternative accepts.
pub const NONE_MATCHES: &str = "must match one of the alternatives";
/// The message for a value that several alternatives accept, of which only one may.
pub const SEVERAL_MATCH: &str = "must match exactly one of the alternatives, but matches several";

/// The message for a value whose nested alternatives take more work than its size allows.
pub const TOO_MANY: &str =
    "must be simpler: it takes too long to tell which alternatives its parts are";

/// How many times the size of a value its parts may be read, as alternatives of unions within unions.
const MOST_READ: usize = 300;
/// What may be read so of a small value, as a size.
const SMALL: usize = 1 << 20;

/// What is known of the value that a thread decodes.
#[derive(Clone, Copy)]
struct Reading {
    /// What may still be read of it, as a size.
    left: usize,
    /// The number of unions around the part that is being read.
    unions: usize,
}

thread_local! {
    static READING: Cell<Option<Reading>> = const { Cell::new(None) };
}

/// What was read before. Put back on drop, so that a panic leaves no limit for the next value.
struct Before(Option<Reading>);

impl Drop for Before {
    fn drop(&mut self) {
        READING.set(self.0);
    }
}

/// A function that decodes a value as one of the alternatives.
pub type Read<T> = fn(&Value) -> Result<T, serde_json::Error>;

/// Decodes a value as the only alternative that accepts it. In lenient mode, a value that no
/// alternative accepts strictly is decoded as the alternative that keeps the most of its
/// properties.
///
/// # Errors
///
/// If no alternative accepts the value, or several accept it strictly.
pub fn one_of<T: Wire, E: Error>(value: &Value, alternatives: &[Read<T>]) -> Result<T, E> {
    limited(value, || only_one_of(value, alternatives))
}

fn only_one_of<T: Wire, E: Error>(value: &Value, alternatives: &[Read<T>]) -> Result<T, E> {
    // A second match is enough to know that several match, so the remaining alternatives are not
    // tried.
    let (found, others) = strict(|| {
        let mut fitting = fitting(value, alternatives);
        (fitting.next(), fitting.next().is_some())
    });
    match found {
        Some(_) if others => Err(E::custom(SEVERAL_MATCH)),
        Some(found) => Ok(found),
        None if is_lenient() => fullest(value, alternatives).ok_or_else(none_fits),
        None => Err(none_fits()),
    }
}

/// Decodes a value as the alternative that accepts it and keeps the most of its properties. Lenient
/// mode is used only if no alternative accepts the value strictly.
///
/// # Errors
///
/// If no alternative accepts the value.
pub fn any_of<T: Wire, E: Error>(value: &Value, alternatives: &[Read<T>]) -> Result<T, E> {
    limited(value, || {
        let strictly = strict(|| fullest(value, alternatives));
        let leniently = || {
            if is_lenient() {
                fullest(value, alternatives)
            } else {
                None
            }
        };
        strictly.or_else(leniently).ok_or_else(none_fits)
    })
}

/// Runs `read`, which decodes a whole document of this many bytes: all unions in it share a limit.
///
/// # Errors
///
/// That of `read`, or that it has come to the limit.
pub(crate) fn within_limit<T, E: Error>(
    bytes: usize,
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let left = bytes.saturating_mul(MOST_READ).saturating_add(SMALL);
    let _before = Before(READING.replace(Some(Reading { left, unions: 0 })));
    let result = read();
    match READING.get() {
        Some(Reading { left: 0, .. }) => Err(E::custom(TOO_MANY)),
        _ => result,
    }
}

/// Runs `read`, which reads a value as alternatives of a union.
fn limited<T, E: Error>(value: &Value, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let Some(reading) = READING.get() else {
        // The value is no part of a document that is decoded as a whole.
        return within_limit(size(value), || limited(value, read));
    };
    let unions = reading.unions + 1;
    READING.set(Some(Reading { unions, ..reading }));
    let result = read();
    if let Some(after) = READING.get() {
        let unions = reading.unions;
        READING.set(Some(Reading { unions, ..after }));
    }
    result
}

/// Returns the size of a value: the number of its parts, and of the bytes of its strings.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries
            .iter()
            .map(|(name, value)| name.len() + size(value))
            .sum(),
        _ => 0,
    }
}

/// Notes that a value of this size is read as one more alternative, and returns whether it may be. The
/// alternatives of a union that is within no other one are as many as the contract has, so they are free.
fn may_read(size: usize) -> bool {
    match READING.get() {
        Some(reading) if reading.unions > 1 => {
            let left = reading.left.saturating_sub(size);
            READING.set(Some(Reading { left, ..reading }));
            left > 0
        }
        _ => true,
    }
}

/// Returns the error for a value that no alternative accepts.
fn none_fits<E: Error>() -> E {
    E::custom(NONE_MATCHES)
}

fn fitting<'a, T>(value: &'a Value, alternatives: &'a [Read<T>]) -> impl Iterator<Item = T> + 'a {
    let size = size(value);
    let read = move |read: &Read<T>| {
        let read = may_read(size).then(|| read(value))?;
        read.inspect_err(|_| place::forget()).ok()
    };
    alternatives.iter().filter_map(read)
}

/// Decodes a value as the alternative that keeps the most of its properties, or the first of
/// several that keep as many. Returns `None` if no alternative accepts the value.
///
/// Open objects accept each other's values. The first match would drop what only a later
/// alternative knows.
fn fullest<T: Wire>(value: &Value, alternatives: &[Read<T>]) -> Option<T> {
    let mut fitting = fitting(value, alternatives);
    let mut best = fitting.next()?;
    // Every alternative that accepts another value keeps all of it.
    if !matches!(value, Value::Object(_) | Value::Array(_)) {
        return Some(best);
    }
    // Counted only when there is a second match: encoding every value again would cost more than
    // decoding it.
    let mut most = None;
    for other in fitting {
        let before = *most.get_or_insert_with(|| kept(value, &best));
        let now = kept(value, &other);
        if now > before {
            (best, most) = (other, Some(now));
        }
    }
    Some(best)
}

/// Returns how many properties of `value`, at any depth, survive decoding: how many are still there
/// when the decoded value `made` is encoded.
fn kept<T: Wire>(value: &Value, made: &T) -> usize {
    serde_json::to_value(Encoded(made)).map_or(0, |written| shared(value, &written))
}

/// Returns how many properties, at any depth, are in both values.
fn shared(value: &Value, written: &Value) -> usize {
    match (value, written) {
        (Value::Object(value), Value::Object(written)) => value
            .iter()
            .filter_map(|(name, value)| Some(1 + shared(value, written.get(name)?)))
            .sum(),
        (Value::Array(value), Value::Array(written)) => value
            .iter()
            .zip(written)
            .map(|(value, written)| shared(value, written))
            .sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde::de::Error as _;
    use serde_json::{Error, Map, Value, json};

    use super::{any_of, one_of};
    use crate::{is_lenient, lenient};

    /// Decodes an object with these properties, as a generated type would.
    fn object(value: &Value, names: &[&str], closed: bool) -> Result<Value, Error> {
        let object = value
            .as_object()
            .ok_or_else(|| Error::custom("must be an object"))?;
        if closed && !is_lenient() && object.keys().any(|name| !names.contains(&name.as_str())) {
            return Err(Error::custom("unknown property"));
        }
        let known = names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), object.get(*name)?.clone())));
        Ok(known.collect::<Map<_, _>>().into())
    }

    const CLOSED: [super::Read<Value>; 2] = [
        |value| object(value, &["id"], true),
        |value| object(value, &["id", "name"], true),
    ];

    const OPEN: [super::Read<Value>; 2] = [
        |value| object(value, &["id"], false),
        |value| object(value, &["id", "name"], false),
    ];

    #[test]
    fn what_fits_strictly_is_taken_leniently_too() {
        let value = json!({"id": 1, "name": 2});
        assert_eq!(
            one_of::<_, Error>(&value, &CLOSED).expect("one alternative fits"),
            value
        );
        assert_eq!(
            lenient(|| one_of::<_, Error>(&value, &CLOSED)).expect("one alternative fits strictly"),
            value
        );
        assert_eq!(
            lenient(|| any_of::<_, Error>(&value, &CLOSED)).expect("one alternative fits strictly"),
            value
        );
    }

    #[test]
    fn a_newer_value_goes_where_the_most_of_it_is_known() {
        let value = json!({"id": 1, "name": 2, "new": 3});
        assert!(one_of::<Value, Error>(&value, &CLOSED).is_err());
        let known = json!({"id": 1, "name": 2});
        assert_eq!(
            lenient(|| one_of::<_, Error>(&value, &CLOSED)).expect("both fit"),
            known
        );
        assert_eq!(
            lenient(|| any_of::<_, Error>(&value, &CLOSED)).expect("both fit"),
            known
        );
    }

    /// Decodes a list of lists of nothing else, or of a leaf.
    fn nested(value: &Value) -> Result<Value, Error> {
        let Value::Array(items) = value else {
            return if value == "leaf" {
                Ok(value.clone())
            } else {
                Err(Error::custom("must be a leaf"))
            };
        };
        let items = items.iter().map(|item| any_of(item, &[nested, nested]));
        items.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    #[test]
    fn nested_alternatives_are_limited_by_the_size_of_their_value() {
        let deep = |levels, leaf| (0..levels).fold(json!(leaf), |inner, _| json!([inner]));
        let read = |value: &Value| any_of::<Value, Error>(value, &[nested, nested]);
        for levels in [1, 10] {
            let value = deep(levels, "leaf");
            assert_eq!(read(&value).expect("it fits"), value);
            let error = read(&deep(levels, "other")).expect_err("it does not fit");
            assert_eq!(error.to_string(), super::NONE_MATCHES);
        }
        for leaf in ["leaf", "other"] {
            let error = read(&deep(60, leaf)).expect_err("2^60 attempts");
            assert_eq!(error.to_string(), super::TOO_MANY);
            // The next value has a limit of its own.
            read(&deep(10, "leaf")).expect("it fits");
        }
        // The parts of a document share its limit.
        let list = vec![deep(14, "leaf"); 1_000];
        read(&list[0]).expect("it fits");
        let error =
            super::within_limit::<Vec<Value>, Error>(30_000, || list.iter().map(read).collect());
        let error = error.expect_err("a thousand times 2^14 attempts");
        assert_eq!(error.to_string(), super::TOO_MANY);
        // A large value may be read more often than a small one.
        let wide: Value = vec![deep(4, "leaf"); 20_000].into();
        assert_eq!(read(&wide).expect("it fits"), wide);
    }

    #[test]
    fn any_of_open_objects_loses_nothing() {
        let value = json!({"id": 1, "name": 2});
        assert_eq!(any_of::<_, Error>(&value, &OPEN).expect("both fit"), value);
        assert!(one_of::<Value, Error>(&value, &OPEN).is_err());
    }
}
