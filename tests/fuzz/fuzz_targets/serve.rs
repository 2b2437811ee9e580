//! Any bytes that a peer sends to a generated server get well-formed responses or a closed
//! connection, and handlers get only values that the contract allows.
//!
//! The first byte decides whether the others are sent as they are, or are the choices by which
//! requests are made.

#![no_main]

use tests::any_request::{requests, serve};
use tests::random::Choices;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let piece = usize::from(first / 2) * 8 + 1;
    let _ = if first % 2 == 0 {
        serve(rest, piece)
    } else {
        serve(&requests(&mut Choices::new(rest)), piece)
    };
});
