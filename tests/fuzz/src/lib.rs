//! The code that the targets share with the tests on random documents.

#[path = "../../src/any_document.rs"]
pub mod any_document;
#[path = "../../src/random.rs"]
pub mod random;
