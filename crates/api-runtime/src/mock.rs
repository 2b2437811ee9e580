//! What a generated mock calls: a server for tests of its callers, which responds as the test says.
//!
//! A generated crate has a method for each operation, which begins an [`Expectation`], and
//! implements the traits of the generated server by a [`Responder`], which asks the
//! [`Expectations`]. So a request is routed, authenticated and read by the generated server before
//! an expectation gets it as a value of Rust. A request that no expectation accepts is responded to
//! with 501, in the contract's error.
//!
//! Deliberately not here: making up responses from schemas, which the package `stratus-mock` does
//! for a document without generated code.

mod behaviour;
mod credential;
mod errors;
mod expectation;
mod expectations;
mod received;
mod responder;
mod sequence;
mod state;
mod times;
mod unmet;

pub use credential::Credential;
pub use errors::Errors;
pub use expectation::{Expectation, Expected};
pub use expectations::Expectations;
pub use received::Received;
pub use responder::Responder;
pub use sequence::Sequence;
pub use times::Times;
pub use unmet::Unmet;
