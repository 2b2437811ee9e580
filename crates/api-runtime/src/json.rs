//! JSON texts to types and back.

use crate::Wire;
use crate::mode::{lenient, strict};
use crate::wire::Written;

/// Reads exactly one value; what the schema does not accept is refused, and so is anything behind the value.
pub fn from_slice_strict<T: Wire>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    strict(|| from_slice(bytes))
}

/// The same as whoever is called by a newer peer reads it, see [`lenient`].
pub fn from_slice_lenient<T: Wire>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    lenient(|| from_slice(bytes))
}

fn from_slice<T: Wire>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = T::decode(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads a value strictly and writes it again.
pub type Recode = fn(&[u8]) -> Result<Vec<u8>, serde_json::Error>;

/// The [`Recode`] of a type.
pub fn recode<T: Wire>(bytes: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let value: T = from_slice_strict(bytes)?;
    serde_json::to_vec(&Written(&value))
}
