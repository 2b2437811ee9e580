//! [`Partial`]: a typed body without the parts that do not fit.

use serde_json::Value;

use super::super::decode::read_text;
use super::Lenient;
use super::search::{LeftOut, is_small, search};
use crate::json::from_slice_lenient;
use crate::pointer::escape;
use crate::wire::Encoded;
use crate::{Violation, Wire};

/// A typed body without the parts that do not fit, which are listed beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Partial<T> {
    /// The rest of the body. A property that is absent here, or an item that is missing, may be
    /// one that was left out.
    pub value: T,
    /// The parts that did not fit, with their pointers in the whole body; empty if nothing was left
    /// out.
    pub left_out: Vec<Violation>,
}

impl<T: Wire> Lenient<T> {
    /// Returns the typed body without the parts that do not fit, if such a value exists.
    ///
    /// An optional property, an entry of a map and an item of an array can be left out. If the
    /// property is required, the object that has it is left out, and so on outwards. So `None` means
    /// that a required part does not fit, that [`violations`](Self::violations) could not find
    /// everything, as in a body of more than 4 MiB, or that a default of the contract would stand where the server sent another
    /// value: nothing is ever filled in.
    ///
    /// Read [`Partial::left_out`] before you conclude from an absent property that the server has
    /// not sent it.
    #[must_use]
    pub fn partial(&self) -> Option<Partial<T>> {
        let source = self.source.as_ref()?;
        if self.typed.is_ok() {
            // Decoded again, because callers may read types that cannot be cloned.
            let value = if source.body.is_text {
                read_text(&source.body.bytes)
            } else {
                from_slice_lenient(&source.body.bytes)
            };
            return value.ok().map(|value| Partial {
                value,
                left_out: Vec::new(),
            });
        }
        if !is_small(&source.body) {
            return None;
        }
        let whole = self.raw()?;
        let rest = search(&source.body, Some(whole)).rest?;
        let value: T = from_slice_lenient(rest.json.to_string().as_bytes()).ok()?;
        let comparison = Comparison {
            whole,
            left_out: &rest.left_out,
        };
        let made = serde_json::to_value(Encoded(&value)).ok()?;
        if comparison.is_invented(&made, &rest.json, "") {
            return None;
        }
        Some(Partial {
            value,
            left_out: self.violations().to_vec(),
        })
    }
}

/// The whole body, and what was left out of it.
struct Comparison<'s> {
    whole: &'s Value,
    left_out: &'s LeftOut,
}

impl Comparison<'_> {
    /// Returns whether `made` has a value in the place of one that was left out, such as a default.
    /// `rest` is what `made` was decoded from, and `original` its pointer in the whole body.
    fn is_invented(&self, made: &Value, rest: &Value, original: &str) -> bool {
        match (made, rest) {
            (Value::Object(made), Value::Object(rest)) => made.iter().any(|(name, made)| {
                let original = format!("{original}/{}", escape(name));
                match rest.get(name) {
                    Some(rest) => self.is_invented(made, rest, &original),
                    None => self.whole.pointer(&original).is_some(),
                }
            }),
            (Value::Array(made), Value::Array(rest)) => {
                made.iter().zip(rest).enumerate().any(|(at, (made, rest))| {
                    let at = self.left_out.index(original, at);
                    self.is_invented(made, rest, &format!("{original}/{at}"))
                })
            }
            _ => false,
        }
    }
}
