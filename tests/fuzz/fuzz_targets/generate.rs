//! Any bytes that are a valid contract yield crates that are Rust.

#![no_main]

use fuzz::any_document;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = any_document::generate("any.yaml", bytes);
});
