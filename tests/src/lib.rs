//! Code that several tests share: an implementation of the API, random values and documents,
//! generated crates outside the workspace.
//!
//! The tests themselves are in `tests/`.

pub mod any_document;
pub mod any_request;
pub mod closed_loop;
pub mod examples;
pub mod memory;
pub mod outside;
pub mod random;
pub mod seed;
pub mod served;
pub mod small;
pub mod standalone;
pub mod values;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../docs/callers.md")]
struct Callers;

#[cfg(doctest)]
#[doc = include_str!("../../docs/foreign.md")]
struct Foreign;

#[cfg(doctest)]
#[doc = include_str!("../../docs/implementers.md")]
struct Implementers;

#[cfg(doctest)]
#[doc = include_str!("../../docs/testing.md")]
struct Testing;
