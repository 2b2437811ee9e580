//! Any change to a valid document yields crates that are Rust, or diagnostics.
//!
//! `STRATUS_FUZZ_DOCUMENT` names the document; without it a small one of this repository is
//! changed.

#![no_main]

use std::sync::LazyLock;

use fuzz::any_document;
use fuzz::random::Choices;
use serde_json::Value;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let named = std::env::var_os("STRATUS_FUZZ_DOCUMENT");
    let path = named.unwrap_or_else(|| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/additions/new.yaml").into()
    });
    let loaded = contract::load(path.as_ref());
    loaded
        .contract
        .expect("STRATUS_FUZZ_DOCUMENT names a document without errors")
        .document
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut document = DOCUMENT.clone();
    any_document::change(&mut document, &mut Choices::new(bytes));
    let _ = any_document::generate("changed.json", document.to_string().as_bytes());
});
