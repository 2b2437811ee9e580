//! [`Lenient`]: a response body as it was received, beside what fits the contract of it.

mod call;
mod partial;
mod search;

pub(super) use call::{Body, apart, failed, keep, keeping};
pub use call::{LenientCall, LenientExt};
pub use partial::Partial;

use std::borrow::Cow;
use std::fmt;
use std::slice;
use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;

use super::misfit::Misfit;
use crate::json::from_slice_lenient;
use crate::{Violation, Wire};

/// A response body that may not fit the contract: as it was received, and as its type where it
/// fits.
///
/// [`LenientExt::lenient`] turns a call into one that returns this. Nothing in it is invented:
/// a value has a type only if the server sent it so.
///
/// - [`get`](Self::get) returns the body as its type, or why it does not fit.
/// - [`field`](Self::field) and [`find`](Self::find) decode a part of it, [`items`](Self::items)
///   each item of an array by itself.
/// - [`raw`](Self::raw) returns the JSON, [`text`](Self::text) and [`bytes`](Self::bytes) what was
///   received, JSON or not.
/// - [`violations`](Self::violations) lists everything that does not fit, and
///   [`partial`](Self::partial) returns the typed body without it.
///
/// [`Debug`](fmt::Debug) prints the typed value or the misfit, and never the body, which may have
/// secrets.
#[derive(Clone)]
pub struct Lenient<T> {
    typed: Result<T, Misfit>,
    source: Option<Source>,
}

/// Where a typed value came from.
#[derive(Clone)]
struct Source {
    body: Body,
    /// The pointer to this part of the response body; empty for the whole body.
    pointer: String,
    json: OnceLock<Option<Value>>,
    violations: OnceLock<Vec<Violation>>,
}

impl<T> Lenient<T> {
    /// Returns the body as its type.
    ///
    /// # Errors
    ///
    /// If the body does not fit the type.
    pub fn get(&self) -> Result<&T, &Misfit> {
        self.typed.as_ref()
    }

    /// Returns the body as its type, by value.
    ///
    /// # Errors
    ///
    /// If the body does not fit the type.
    pub fn into_typed(self) -> Result<T, Misfit> {
        self.typed
    }

    /// Returns the body as JSON. Returns `None` if the body is no JSON, is nested more than 127
    /// levels deep, or was not read into memory: an empty response or a stream.
    ///
    /// Of a property that an object has twice, the last value is kept, and a number that fits no 64-bit
    /// integer and no `double` is rounded; [`text`](Self::text) has all of it. The value is
    /// parsed when it is first asked for. Do not log it: it may have secrets.
    #[must_use]
    pub fn raw(&self) -> Option<&Value> {
        let source = self.source.as_ref()?;
        let json = source.json.get_or_init(|| {
            // serde's own impl: it accepts a property that is there twice.
            serde_json::from_slice(&source.body.bytes).ok()
        });
        json.as_ref()
    }

    /// Returns the body as text, with the replacement character for what is not UTF-8. Returns
    /// `None` if the body was not read into memory: an empty response or a stream.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'_, str>> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes))
    }

    /// Returns the bytes of the body. Returns `None` if the body was not read into memory: an empty
    /// response or a stream.
    #[must_use]
    pub fn bytes(&self) -> Option<&Bytes> {
        Some(&self.source.as_ref()?.body.bytes)
    }

    /// Returns the parts of the body that do not fit, each with its pointer and rule, in the order
    /// of the body. The list is empty if the body fits.
    ///
    /// A part is found by decoding the body again without those that were found before, so the list
    /// costs the time of decoding the body that often, and is made when it is first asked for. It
    /// has at most 100 parts, and decodes at most 16 MiB; the last entry then says that there may be
    /// more. Of a body of more than 4 MiB, only the first part is listed. Of the required properties
    /// that are missing in one object, only the first is listed.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        match (&self.typed, &self.source) {
            (Ok(_), _) => &[],
            (Err(misfit), None) => slice::from_ref(misfit.violation()),
            (Err(misfit), Some(source)) => source.violations.get_or_init(|| {
                if !search::is_small(&source.body) {
                    return vec![misfit.violation().clone(), Violation::more()];
                }
                let found = search::search(&source.body, self.raw());
                let prefix = |mut violation: Violation| {
                    violation.pointer.insert_str(0, &source.pointer);
                    violation
                };
                found.violations.into_iter().map(prefix).collect()
            }),
        }
    }

    /// Decodes the part of the body at a JSON pointer (RFC 6901), such as `/owner/name`.
    ///
    /// # Errors
    ///
    /// If the body has no such part, or the part does not fit `U`.
    pub fn field<U: Wire>(&self, pointer: &str) -> Result<U, Misfit> {
        let part = self.find(pointer)?;
        part.ok_or_else(|| self.misfit(pointer, "is not there"))
    }

    /// Decodes the part of the body at a JSON pointer as [`field`](Self::field) does. Returns
    /// `None` if the body has no such part.
    ///
    /// # Errors
    ///
    /// If the part does not fit `U`, or the body is no JSON.
    pub fn find<U: Wire>(&self, pointer: &str) -> Result<Option<U>, Misfit> {
        match self.json()?.pointer(pointer) {
            Some(value) => self.part(value, pointer).into_typed().map(Some),
            None => Ok(None),
        }
    }

    /// Decodes each item of the array at a JSON pointer by itself, so that an item that does not
    /// fit costs only itself. The pointer of a body that is an array is empty.
    ///
    /// # Errors
    ///
    /// If the body has no array there.
    pub fn items<U: Wire>(
        &self,
        pointer: &str,
    ) -> Result<impl Iterator<Item = Lenient<U>>, Misfit> {
        let items = self.json()?.pointer(pointer).and_then(Value::as_array);
        let items = items.ok_or_else(|| self.misfit(pointer, "must be an array"))?;
        let pointer = pointer.to_owned();
        let item = move |(at, item)| self.part(item, &format!("{pointer}/{at}"));
        Ok(items.iter().enumerate().map(item))
    }

    /// Returns the body as JSON, or the misfit of a body that is none.
    fn json(&self) -> Result<&Value, Misfit> {
        self.raw().ok_or_else(|| self.misfit("", "is not JSON"))
    }

    /// Returns the misfit of the part at a pointer.
    fn misfit(&self, pointer: &str, rule: &str) -> Misfit {
        let source = self.source.as_ref();
        let around = source.map_or("", |source| &source.pointer);
        let violation = Violation {
            pointer: format!("{around}{pointer}"),
            message: rule.to_owned(),
        };
        Misfit::new(source.and_then(|source| source.body.operation), violation)
    }

    /// Reads a part of the body. `pointer` begins at this body.
    fn part<U: Wire>(&self, value: &Value, pointer: &str) -> Lenient<U> {
        let source = self.source.as_ref();
        let body = Body {
            bytes: value.to_string().into(),
            check: |body| from_slice_lenient::<U>(body).map(drop),
            operation: source.and_then(|source| source.body.operation),
            is_text: false,
        };
        let around = source.map_or("", |source| &source.pointer);
        let pointer = format!("{around}{pointer}");
        Lenient::read(body, pointer, Some(value.clone()))
    }
}

impl<T: Wire> Lenient<T> {
    /// Reads the part of a body at a pointer. `json` is the part, if it has been parsed.
    fn read(body: Body, pointer: String, json: Option<Value>) -> Self {
        let typed = from_slice_lenient(&body.bytes)
            .map_err(|_| Misfit::of(body.operation, &body.bytes, body.check).within(&pointer));
        let json = json.map_or_else(OnceLock::new, |json| OnceLock::from(Some(json)));
        let source = Source {
            body,
            pointer,
            json,
            violations: OnceLock::new(),
        };
        Self {
            typed,
            source: Some(source),
        }
    }

    /// Reads JSON that belongs to no call, such as a response that was recorded.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let body = Body {
            bytes: text.to_owned().into(),
            check: |body| from_slice_lenient::<T>(body).map(drop),
            operation: None,
            is_text: false,
        };
        Self::read(body, String::new(), None)
    }

    /// Reads the item of a list, of which `pointer` is the place in the page.
    pub(super) fn of_item(item: Bytes, pointer: String, operation: Option<&'static str>) -> Self {
        let body = Body {
            bytes: item,
            check: |body| from_slice_lenient::<T>(body).map(drop),
            operation,
            is_text: false,
        };
        Self::read(body, pointer, None)
    }
}

impl<T> Lenient<T> {
    /// Returns the lenient form of a response body that has been read.
    pub(super) fn new(typed: Result<T, Misfit>, body: Option<Body>) -> Self {
        let source = body.map(|body| Source {
            body,
            pointer: String::new(),
            json: OnceLock::new(),
            violations: OnceLock::new(),
        });
        Self { typed, source }
    }
}

impl<T: fmt::Debug> fmt::Debug for Lenient<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lenient")
            .field("typed", &self.typed)
            .finish_non_exhaustive()
    }
}
