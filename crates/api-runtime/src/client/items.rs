//! Response bodies that are sequences of items.

use super::{ByteStream, Error, Received, ResponseValue, content_type, map, stream};
use crate::items::{self, Framing};

/// The items of a response body.
pub type ItemStream<T> = items::ItemStream<T, ByteStream>;

/// Why an item of a response body is missing.
pub type ItemError = items::ItemError<Error>;

/// Returns a response whose body is a sequence of items. They are separated as its media type says,
/// or else as `listed` does, that of the contract. Each is decoded leniently.
#[must_use]
pub fn items<T>(listed: &str, response: Received) -> ResponseValue<ItemStream<T>> {
    let framing = Framing::of(&content_type(&response)).or(Framing::of(listed));
    let framing = framing.unwrap_or(Framing::Lines);
    map(stream(response), |body| {
        ItemStream::new(framing, body, true)
    })
}
