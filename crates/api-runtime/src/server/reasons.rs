//! Finds out why a JSON body does not fit its type.

use bytes::Bytes;

use super::operation::Media;
#[cfg(feature = "jsonschema")]
use super::violations;
#[cfg(feature = "jsonschema")]
use crate::Schemas;
use crate::Wire;
use crate::json::{from_slice_lenient, from_slice_strict};
use crate::place::{located, rule};

/// A way to find out why a JSON body does not fit its type: the contract's `Schemas` name all
/// reasons, and [`FirstViolation`] names one.
pub trait Reasons: Sync {
    /// Returns the reasons, each as the JSON pointer to a part of the body and the rule that the
    /// part breaks; none if the body fits.
    fn of_body<T: Wire>(
        &'static self,
        bytes: Bytes,
        media: &Media,
    ) -> impl Future<Output = Vec<(String, String)>> + Send;
}

#[cfg(feature = "jsonschema")]
impl Reasons for Schemas {
    fn of_body<T: Wire>(
        &'static self,
        bytes: Bytes,
        media: &Media,
    ) -> impl Future<Output = Vec<(String, String)>> + Send {
        violations::of_body(bytes, self, media.schema)
    }
}

/// Names the first thing that is wrong with a JSON body, which takes no JSON Schema validator.
#[derive(Debug, Clone, Copy)]
pub struct FirstViolation;

impl Reasons for FirstViolation {
    fn of_body<T: Wire>(
        &'static self,
        bytes: Bytes,
        media: &Media,
    ) -> impl Future<Output = Vec<(String, String)>> + Send {
        let read = || {
            if media.is_lenient {
                from_slice_lenient::<T>(&bytes).map(drop)
            } else {
                from_slice_strict::<T>(&bytes).map(drop)
            }
        };
        let reason = located(read).map(|(place, error)| {
            if error.is_syntax() || error.is_eof() {
                return (String::new(), format!("is not JSON: {error}"));
            }
            let rule = rule(&error);
            let rule = rule.unwrap_or_else(|| "does not match its schema".to_owned());
            (place.pointer, rule)
        });
        std::future::ready(reason.into_iter().collect())
    }
}
