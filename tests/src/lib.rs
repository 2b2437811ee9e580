//! What the tests share: values for a schema, the comparison of two documents.
//!
//! The tests themselves are in `tests/`, one file per front door.

pub mod any_document;
pub mod closed_loop;
pub mod memory;
pub mod outside;
pub mod random;
pub mod seed;
pub mod served;
pub mod small;
pub mod standalone;
pub mod values;
