//! What the targets share with the tests that draw documents by chance.

#[path = "../../src/any_document.rs"]
pub mod any_document;
#[path = "../../src/random.rs"]
pub mod random;
