//! Functions from JSON text to generated types and back.

use serde::de::Error as _;

use crate::Wire;
use crate::alternatives::within_limit;
use crate::mode::{lenient, strict};
use crate::place::NOT_UTF8;
use crate::wire::Encoded;

/// Decodes one value in strict mode.
///
/// # Errors
///
/// If the bytes are not JSON in UTF-8, the schema does not accept the value, or anything follows the value.
pub fn from_slice_strict<T: Wire>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    strict(|| from_slice(bytes))
}

/// Decodes one value in lenient mode, see [`lenient`]: for input of a peer that may know a newer
/// contract.
///
/// # Errors
///
/// As [`from_slice_strict`], but for what lenient mode accepts.
pub fn from_slice_lenient<T: Wire>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    lenient(|| from_slice(bytes))
}

fn from_slice<T: Wire>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    // As a whole: serde_json would check each string by itself, which takes several times as long.
    let text = str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        serde_json::Error::custom(format_args!("{NOT_UTF8} at byte {at}"))
    })?;
    within_limit(text.len(), || {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let value = T::decode(&mut deserializer)?;
        deserializer.end()?;
        Ok(value)
    })
}

/// A function that decodes a value in strict mode and encodes it again.
pub type Recode = fn(&[u8]) -> Result<Vec<u8>, serde_json::Error>;

/// Decodes a value of `T` in strict mode and encodes it again: the [`Recode`] of `T`.
///
/// # Errors
///
/// As [`from_slice_strict`], or if the value cannot be encoded.
pub fn recode<T: Wire>(bytes: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let value: T = from_slice_strict(bytes)?;
    serde_json::to_vec(&Encoded(&value))
}
