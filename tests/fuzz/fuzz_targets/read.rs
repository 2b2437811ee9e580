//! Any bytes are read as JSON and as YAML, or rejected with a diagnostic.

#![no_main]

use fuzz::any_document;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for name in ["any.json", "any.yaml"] {
        let _ = any_document::read(name, bytes);
    }
});
